//! The guard's reference convolution and half-precision conversion, compared with numpy.
//!
//! `CUDNN_GUARD_REAL` is the directory of `.ci/wheels.py`, which contains numpy in `numpy`.

use crate::support::run;
use cudnn_guard::internals::convolution::case::{self, Case};
use cudnn_guard::internals::convolution::reference::{self, Operands};
use cudnn_guard::internals::cudnn::data_type::to_half;
use cudnn_guard::internals::cudnn::operation::Operation;
use cudnn_guard::internals::cudnn::shape::Shape;
use std::path::Path;
use std::process::Command;

const SHAPES: usize = 250;

/// A random number generator with a fixed sequence.
struct Dice(u64);

impl Dice {
    fn bits(&mut self) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    /// Returns a number from 1 to `most`.
    fn roll(&mut self, most: usize) -> usize {
        1 + self.bits() as usize % most
    }

    fn shape(&mut self) -> Shape {
        loop {
            let shape = Shape {
                n: self.roll(3),
                c: self.roll(3),
                h: self.roll(12),
                w: self.roll(12),
                k: self.roll(3),
                r: self.roll(4),
                s: self.roll(4),
                pad: [self.roll(4) - 1, self.roll(4) - 1],
                stride: [self.roll(3), self.roll(3)],
            };
            let [_, _, height, width] = shape.y();
            if height > 0 && width > 0 {
                return shape;
            }
        }
    }
}

#[test]
#[ignore = "needs numpy: CUDNN_GUARD_REAL"]
fn numpy_computes_the_same_results() {
    let real = std::env::var("CUDNN_GUARD_REAL").expect("CUDNN_GUARD_REAL names the wheels");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("numpy");
    std::fs::create_dir_all(&folder).unwrap();
    let operations = [
        (Operation::Forward, "y"),
        (Operation::BackwardData, "dx"),
        (Operation::BackwardFilter, "dw"),
        (Operation::Fused, "fused"),
    ];
    let mut dice = Dice(1);
    let (mut lines, mut numbers, mut ours) = (String::new(), Vec::new(), Vec::new());
    for _ in 0..SHAPES {
        let shape = dice.shape();
        for (operation, name) in operations {
            let kind = Case {
                operation,
                shape,
                ..case::FIRST
            };
            let operands = Operands::for_case(&kind);
            let tensors = [&operands.x, &operands.w, &operands.y, &operands.bias];
            for number in tensors.into_iter().flatten() {
                numbers.extend(number.to_ne_bytes());
            }
            let ([a, b], [c, d]) = (shape.pad, shape.stride);
            let Shape { n, h, w, k, r, .. } = shape;
            lines += &format!(
                "{name} {n} {} {h} {w} {k} {r} {} {a} {b} {c} {d}\n",
                shape.c, shape.s
            );
            let result = reference::convolve(&kind, &operands);
            ours.extend(result.into_iter().map(|expected| (kind, expected)));
        }
    }
    // Random bit patterns, and those close to the limits of half precision.
    let mut floats: Vec<u32> = (0..1 << 20).map(|_| dice.bits()).collect();
    for edge in [
        0x3380_0000,
        0x3300_0000,
        0x3880_0000,
        0x477F_F000,
        0x7F80_0000,
    ] {
        floats.extend((edge - 2u32..=edge + 2).flat_map(|bits| [bits, bits | 0x8000_0000]));
    }
    let file = |name: &str| folder.join(name);
    std::fs::write(file("lines"), lines).unwrap();
    std::fs::write(file("operands"), numbers).unwrap();
    let bytes: Vec<u8> = floats.iter().flat_map(|bits| bits.to_ne_bytes()).collect();
    std::fs::write(file("floats"), bytes).unwrap();
    run(Command::new("python3")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/real/convolve.py"))
        .args(["lines", "operands", "results", "floats", "halves"].map(file))
        .env("PYTHONPATH", Path::new(&real).join("numpy")))
    .exits_with(0);

    let results = std::fs::read(file("results")).unwrap();
    let results: Vec<f64> = results
        .chunks_exact(8)
        .map(|bytes| f64::from_ne_bytes(bytes.try_into().unwrap()))
        .collect();
    assert_eq!(results.len(), ours.len());
    for (theirs, (kind, ours)) in results.iter().zip(&ours) {
        // Allows a few rounding errors of double precision.
        let allowed = ours.magnitude * 1e-14;
        let off = (theirs - ours.value).abs();
        assert!(off <= allowed, "{theirs} {ours:?} {kind:?}");
    }
    let halves = std::fs::read(file("halves")).unwrap();
    assert_eq!(halves.len(), floats.len() * 2);
    for (bits, half) in floats.iter().zip(halves.chunks_exact(2)) {
        let theirs = u16::from_ne_bytes(half.try_into().unwrap());
        let ours = to_half(f32::from_bits(*bits));
        let nan = |half: u16| half & 0x7FFF > 0x7C00;
        assert!(ours == theirs || nan(ours) && nan(theirs), "{bits:#x}");
    }
    println!(
        "{SHAPES} shapes, {} numbers, {} halves",
        ours.len(),
        floats.len()
    );
}
