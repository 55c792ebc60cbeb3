//! The convolutions that are tested.

use crate::runtime::convolution::{Api, SuiteEvent};
use crate::runtime::cudnn::{Algorithm, DataType, Layout, Operation, Shape};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    pub api: Api,
    pub operation: Operation,
    pub data_type: DataType,
    pub layout: Layout,
    pub shape: Shape,
}

impl Case {
    pub fn words(&self) -> String {
        let (operation, through) = (self.operation.words(), self.api.api_words());
        format!("{} in {}{}", operation, self.data_type.name(), through)
    }

    pub fn title(&self) -> String {
        format!("{} ({})", self.words(), self.layout.name())
    }

    /// Returns the event that an algorithm starts to compute this case.
    pub fn running(&self, by: Algorithm) -> SuiteEvent {
        let (words, layout) = (self.words(), self.layout.name());
        SuiteEvent::cudnn(format!("running the {words} ({layout}, {by})"))
    }

    pub fn result(&self) -> [usize; 4] {
        let (shape, operation) = (self.shape, self.operation);
        let [.., result] = operation.operands([shape.x, shape.w, shape.y()]);
        result
    }

    /// Returns the largest number of products in a sum.
    pub fn products(&self) -> usize {
        let shape = self.shape;
        let [k, c, r, s] = shape.w;
        let [n, _, height, width] = shape.y();
        match self.operation {
            Operation::Forward | Operation::Fused => c * r * s,
            Operation::BackwardData => k * r * s,
            Operation::BackwardFilter => n * height * width,
        }
    }

    /// Returns `true` if every cuDNN computes this convolution on every GPU, so that a refusal is a fault.
    pub fn is_basic(&self) -> bool {
        *self == FIRST
    }
}

/// Large enough for engines that work in tiles, small enough to be fast: 72 products for each of 3136 numbers.
const BASE: Shape = Shape {
    x: [2, 8, 14, 14],
    w: [8, 8, 3, 3],
    pad: [1, 1],
    stride: [1, 1],
};
/// A smaller shape, in which every format can represent the sums of small whole numbers.
pub const SMALL: Shape = Shape {
    x: [2, 8, 8, 8],
    ..BASE
};
/// The second shape of the thorough check: height and width differ in every parameter, and the filter skips positions.
pub const SECOND: Shape = Shape {
    x: [1, 8, 13, 10],
    w: [16, 8, 5, 3],
    pad: [2, 1],
    stride: [2, 3],
};

/// The convolution that is always tested first.
pub const FIRST: Case = Case {
    api: Api::Legacy,
    operation: Operation::Forward,
    data_type: DataType::F32,
    layout: Layout::Nchw,
    shape: BASE,
};
const TRAINING: [Operation; 3] = [
    Operation::Forward,
    Operation::BackwardData,
    Operation::BackwardFilter,
];
const TYPES: [DataType; 4] = [DataType::F32, DataType::Tf32, DataType::F16, DataType::Bf16];

/// Returns a convolution for each format, as in inference, without a change of layout.
pub fn quick() -> Vec<Case> {
    let mut cases = vec![FIRST];
    for data_type in TYPES.iter().skip(1) {
        cases.push(Case {
            data_type: *data_type,
            shape: SMALL,
            ..FIRST
        });
    }
    cases
}

/// Returns every operation in every format: in both layouts, and in a second shape.
pub fn thorough() -> Vec<Case> {
    let mut cases = vec![FIRST];
    for data_type in TYPES {
        for operation in TRAINING.into_iter().chain([Operation::Fused]) {
            for (layout, shape) in [
                (Layout::Nchw, SMALL),
                (Layout::Nhwc, SMALL),
                (Layout::Nhwc, SECOND),
            ] {
                cases.push(Case {
                    operation,
                    data_type,
                    layout,
                    shape,
                    ..FIRST
                });
            }
        }
    }
    cases
}

/// Returns the cases for the graph API: the format of most networks, and the default format.
pub fn quick_graph() -> Vec<Case> {
    vec![
        graph(Operation::Forward, DataType::F16, SMALL),
        graph(Operation::Forward, DataType::F32, SMALL),
    ]
}

/// Returns the cases for the graph API that train a network, each in both shapes.
pub fn thorough_graph() -> Vec<Case> {
    let mut cases = Vec::new();
    for operation in TRAINING {
        for data_type in [DataType::F16, DataType::F32, DataType::Tf32, DataType::Bf16] {
            for shape in [SMALL, SECOND] {
                cases.push(graph(operation, data_type, shape));
            }
        }
    }
    cases
}

/// Creates a case for the graph API, in the layout that most engines support.
fn graph(operation: Operation, data_type: DataType, shape: Shape) -> Case {
    Case {
        api: Api::Graph,
        operation,
        data_type,
        layout: Layout::Nhwc,
        shape,
    }
}
