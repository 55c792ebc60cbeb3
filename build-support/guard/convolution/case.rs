//! The convolutions that are tested.

use crate::runtime::convolution::case_result::{Api, SuiteEvent};
use crate::runtime::cudnn::algorithm::Algorithm;
use crate::runtime::cudnn::data_type::DataType;
use crate::runtime::cudnn::operation::Operation;
use crate::runtime::cudnn::shape::{Layout, Shape, quotient};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    pub api: Api,
    pub operation: Operation,
    pub data_type: DataType,
    pub layout: Layout,
    pub shape: Shape,
    /// `true` if it is repeated with numbers whose results need all bits of the format.
    pub fills: bool,
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
        match self.operation {
            Operation::Forward | Operation::Fused => self.shape.y(),
            Operation::BackwardData => self.shape.x(),
            Operation::BackwardFilter => self.shape.filter(),
        }
    }

    /// Returns the largest number of products in a sum.
    pub fn products(&self) -> usize {
        let shape = self.shape;
        let [k, c, r, s] = shape.filter();
        let [n, _, height, width] = shape.y();
        match self.operation {
            Operation::Forward | Operation::Fused => c * r * s,
            Operation::BackwardData => quotient(k, shape.groups) * r * s,
            Operation::BackwardFilter => n * height * width,
        }
    }

    /// Returns `true` if every cuDNN computes this convolution on every GPU, so that a refusal is a fault.
    pub fn is_basic(&self) -> bool {
        *self == FIRST
    }
}

/// Creates a shape without holes or groups from the input's dimensions, and the filters' number, height and width.
const fn shape(
    [n, c, h, w]: [usize; 4],
    [k, r, s]: [usize; 3],
    pad: [usize; 2],
    stride: [usize; 2],
) -> Shape {
    Shape {
        n,
        c,
        h,
        w,
        k,
        r,
        s,
        pad,
        stride,
        dilation: [1, 1],
        groups: 1,
    }
}

/// Large enough for engines that work in tiles, small enough to be fast: 72 products for each of 3136 numbers.
const BASE: Shape = shape([2, 8, 14, 14], [8, 3, 3], [1, 1], [1, 1]);
/// A smaller shape, in which every format can represent the sums of small whole numbers.
pub const SMALL: Shape = Shape { h: 8, w: 8, ..BASE };
/// Height and width differ in every parameter, and the filter skips positions.
const STEPS: Shape = shape([1, 8, 13, 10], [16, 5, 3], [2, 1], [2, 3]);
/// A filter of one pixel: a plain matrix product.
const POINT: Shape = shape([2, 32, 6, 5], [16, 1, 1], [0, 0], [1, 1]);
const HOLES: Shape = Shape {
    dilation: [2, 3],
    ..shape([1, 8, 11, 12], [8, 3, 3], [2, 3], [1, 1])
};
/// The first layer of a network: three channels, which is not a multiple of any engine's vector size.
const IMAGE: Shape = shape([1, 3, 16, 16], [8, 5, 5], [2, 2], [2, 2]);
const GROUPS: Shape = Shape {
    groups: 2,
    ..shape([1, 16, 8, 8], [16, 3, 3], [1, 1], [1, 1])
};
/// A group for each channel.
const DEPTH: Shape = Shape { groups: 8, ..SMALL };

/// The convolution that is always tested first.
pub const FIRST: Case = Case {
    api: Api::Legacy,
    operation: Operation::Forward,
    data_type: DataType::F32,
    layout: Layout::Nchw,
    shape: BASE,
    fills: false,
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

/// Returns every operation in every format and layout, and every operation in every format on shapes for other engines.
pub fn thorough() -> Vec<Case> {
    let mut kinds = vec![FIRST];
    for data_type in &TYPES {
        for operation in TRAINING.iter().chain(&[Operation::Fused]) {
            for layout in &[Layout::Nchw, Layout::Nhwc] {
                kinds.push(legacy(*operation, *data_type, *layout, SMALL));
            }
        }
        for (shape, layout) in &[
            (STEPS, Layout::Nhwc),
            (POINT, Layout::Nchw),
            (HOLES, Layout::Nchw),
            (IMAGE, Layout::Nchw),
            (GROUPS, Layout::Nhwc),
            (DEPTH, Layout::Nchw),
        ] {
            for operation in &TRAINING {
                kinds.push(legacy(*operation, *data_type, *layout, *shape));
            }
        }
    }
    kinds
}

fn legacy(operation: Operation, data_type: DataType, layout: Layout, shape: Shape) -> Case {
    Case {
        operation,
        data_type,
        layout,
        shape,
        fills: data_type.is_short(),
        ..FIRST
    }
}

/// Returns the cases for the graph API: the format of most networks, and the default format.
pub fn quick_graph() -> Vec<Case> {
    vec![
        graph(Operation::Forward, DataType::F16),
        graph(Operation::Forward, DataType::F32),
    ]
}

/// Returns the cases for the graph API that train a network.
pub fn thorough_graph() -> Vec<Case> {
    let mut cases = Vec::new();
    for operation in &TRAINING {
        for data_type in &[DataType::F16, DataType::F32, DataType::Tf32, DataType::Bf16] {
            cases.push(Case {
                fills: data_type.is_short(),
                ..graph(*operation, *data_type)
            });
        }
    }
    cases
}

/// Creates a case for the graph API, in the layout that most engines support.
fn graph(operation: Operation, data_type: DataType) -> Case {
    Case {
        api: Api::Graph,
        operation,
        data_type,
        layout: Layout::Nhwc,
        shape: SMALL,
        ..FIRST
    }
}

/// Returns the convolutions that are tested with every algorithm that cuDNN offers.
pub fn every_algorithm() -> Vec<Case> {
    let mut cases = quick();
    for case in &mut cases {
        case.fills = case.data_type.is_short();
    }
    cases
}
