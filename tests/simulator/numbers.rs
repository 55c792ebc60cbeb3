//! The reference, its tolerances and the short formats, compared with independent computations.

use cudnn_guard::internals::convolution::case::{self, Case};
use cudnn_guard::internals::convolution::reference::{self, Expected, Operands};
use cudnn_guard::internals::convolution::tolerance::{Tolerance, compare};
use cudnn_guard::internals::cudnn::algorithm::Algorithm;
use cudnn_guard::internals::cudnn::data_type::{
    DataType, from_bfloat16, from_half, to_bfloat16, to_half,
};
use cudnn_guard::internals::cudnn::operation::Operation;
use cudnn_guard::internals::cudnn::shape::{Layout, Shape, count, indices};

const TYPES: [DataType; 4] = [DataType::F32, DataType::Tf32, DataType::F16, DataType::Bf16];

/// An independent computation: a matrix of all patches, without the reference's index arithmetic.
#[test]
fn the_reference_convolves() {
    let shape = Shape {
        x: [1, 2, 5, 4],
        w: [3, 2, 3, 2],
        pad: [1, 1],
        stride: [2, 2],
    };
    let case = Case {
        shape,
        ..case::FIRST
    };
    assert_eq!(shape.y(), [1, 3, 3, 3]);
    let operands = Operands::for_case(&case);
    let mut patches = Vec::new();
    for top in [-1i32, 1, 3] {
        for left in [-1i32, 1, 3] {
            let mut patch = Vec::new();
            for image in operands.x.chunks(20) {
                for row in top..top + 3 {
                    for column in left..left + 2 {
                        let inside = (0..5).contains(&row) && (0..4).contains(&column);
                        patch.push(if inside {
                            image[(row * 4 + column) as usize]
                        } else {
                            0.0
                        });
                    }
                }
            }
            patches.push(patch);
        }
    }
    let by_hand: Vec<f64> = operands
        .w
        .chunks(12)
        .flat_map(|filter| {
            patches.iter().map(|patch| {
                let pairs = filter.iter().zip(patch);
                pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
            })
        })
        .collect();
    let expected = reference::convolve(&case, &operands);
    let tolerance = Tolerance::for_case(&case, false, &expected);
    assert_eq!(expected.len(), 27);
    for (one, other) in expected.iter().zip(&by_hand) {
        assert!((one.value - other).abs() < 1e-15, "{one:?} {other}");
        let allowed = tolerance.bound(one);
        assert!(allowed > 0.0 && allowed < 1e-4, "{one:?}");
    }
}

/// The gradients make the forward convolution a linear form in all three operands: `<y, f(x, w)>` equals `<x, dx(y,
/// w)>` and `<w, dw(x, y)>`.
#[test]
fn the_three_operations_are_adjoint() {
    for case in case::thorough() {
        let case = Case {
            data_type: DataType::F32,
            ..case
        };
        let operands = Operands::for_case(&case);
        let [y, x, w] = [
            (Operation::Forward, &operands.y),
            (Operation::BackwardData, &operands.x),
            (Operation::BackwardFilter, &operands.w),
        ]
        .map(|(operation, with)| {
            let result = reference::convolve(&Case { operation, ..case }, &operands);
            assert_eq!(result.len(), with.len());
            let products = result.iter().zip(with.iter());
            products
                .map(|(it, other)| it.value * f64::from(*other))
                .sum::<f64>()
        });
        assert!((y - x).abs() < 1e-10 && (y - w).abs() < 1e-10, "{case:?}");
        assert!(y.abs() > 1e-3, "{case:?}");
    }
}

#[test]
fn bias_and_relu_are_applied() {
    let case = Case {
        operation: Operation::Fused,
        ..case::FIRST
    };
    let operands = Operands::for_case(&case);
    let plain = reference::convolve(&case::FIRST, &operands);
    let fused = reference::convolve(&case, &operands);
    let mut zeros = 0;
    for (index, (one, other)) in plain.iter().zip(&fused).enumerate() {
        let [_, k, _, _] = indices(case.result(), index);
        let sum = one.value + f64::from(operands.bias[k]);
        assert_eq!(other.value, if sum > 0.0 { sum } else { 0.0 });
        assert!(other.magnitude > one.magnitude);
        zeros += usize::from(sum <= 0.0);
    }
    assert!(zeros > fused.len() / 4 && zeros < fused.len() * 3 / 4);
}

/// A canary directly follows the last number only if the numbers fill complete words.
#[test]
fn every_buffer_is_whole_words() {
    for case in case::quick().into_iter().chain(case::thorough()) {
        let shape = case.shape;
        for dims in [shape.x, shape.w, shape.y(), [1, shape.w[0], 1, 1]] {
            assert!(count(dims) > 0 && count(dims).is_multiple_of(2), "{case:?}");
        }
    }
}

/// All buffers of a convolution with their margins, except the workspace, which has its own limit of 48 MiB.
#[test]
fn buffers_are_small() {
    for case in case::quick().into_iter().chain(case::thorough()) {
        let shape = case.shape;
        let numbers = count(shape.x) + count(shape.w) + 2 * count(shape.y()) + shape.w[0];
        assert!(
            case.data_type.bytes(numbers) + 6 * 1024 < 1 << 20,
            "{case:?}"
        );
    }
}

#[test]
fn a_layout_can_be_restored() {
    let dims = [2, 3, 4, 5];
    let numbers: Vec<f32> = (0..120u8).map(f32::from).collect();
    assert_eq!(Layout::Nchw.arrange(dims, &numbers), numbers);
    let other = Layout::Nhwc.arrange(dims, &numbers);
    // The channels of the first pixel are 20 numbers apart.
    assert_eq!(other[..4], [0.0, 20.0, 40.0, 1.0]);
    assert_eq!(Layout::Nhwc.restore(dims, &other), numbers);
    assert!(Layout::Nhwc.restore(dims, &other[..119])[119].is_nan());
    assert_eq!(indices(dims, 119), [1, 2, 3, 4]);
}

/// A format of 16 bits: how it is read and written, the bits of its fraction, the bias of its exponent, and infinity.
type Format = (fn(u16) -> f32, fn(f32) -> u16, u32, i32, u16);

const FORMATS: [Format; 2] = [
    (from_half, to_half, 10, 15, 0x7C00),
    (from_bfloat16, to_bfloat16, 7, 127, 0x7F80),
];

/// Every bit pattern: its value is computed from the definition of the format, and is encoded to the same pattern.
#[test]
fn every_short_number_is_read_and_written() {
    for (read, write, width, bias, infinite) in FORMATS {
        for bits in 0..=u16::MAX {
            let value = read(bits);
            let exponent = i32::from((bits & infinite) >> width);
            let fraction = f64::from(bits & ((1 << width) - 1)) / f64::from(1 << width);
            let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
            let defined = match exponent {
                _ if bits & infinite == infinite && fraction == 0.0 => f64::INFINITY,
                _ if bits & infinite == infinite => f64::NAN,
                0 => fraction * 2f64.powi(1 - bias),
                _ => (1.0 + fraction) * 2f64.powi(exponent - bias),
            };
            assert_eq!(value.is_sign_negative(), bits & 0x8000 != 0);
            if defined.is_nan() {
                assert!(value.is_nan() && read(write(value)).is_nan());
                continue;
            }
            assert_eq!(f64::from(value), sign * defined, "{bits:#06x}");
            assert_eq!(write(value), bits);
        }
    }
}

/// Between any two neighbors: just below the middle, the middle itself, just above it.
#[test]
fn numbers_are_rounded_to_nearest_with_ties_to_even() {
    for (read, write, _, _, infinite) in FORMATS {
        for bits in 0..infinite - 1 {
            let (low, high) = (f64::from(read(bits)), f64::from(read(bits + 1)));
            let middle = ((low + high) / 2.0) as f32;
            assert_eq!(f64::from(middle), (low + high) / 2.0);
            let even = bits + (bits & 1);
            for sign in [0, 0x8000] {
                let signed = |value: f32| if sign == 0 { value } else { -value };
                assert_eq!(write(signed(middle)), even | sign);
                assert_eq!(write(signed(middle.next_down())), bits | sign);
                assert_eq!(write(signed(middle.next_up())), (bits + 1) | sign);
            }
        }
        assert_eq!(write(f32::MAX), infinite);
        assert_eq!(write(f32::INFINITY), infinite);
    }
    assert_eq!(to_half(65_519.0), 0x7BFF);
    assert_eq!(to_half(65_520.0), 0x7C00);
    assert_eq!(to_half(2f32.powi(-26)), 0);
}

#[test]
fn poison_is_a_nan_in_every_format() {
    for data_type in TYPES {
        let numbers =
            data_type.unpack(&[cudnn_guard::internals::driver::device_memory::POISON; 16]);
        assert_eq!(numbers.len(), if data_type.is_short() { 8 } else { 4 });
        assert!(numbers.iter().all(|number| number.is_nan()));
    }
    let packed = DataType::F16.pack(&[1.0, -2.0]);
    assert_eq!(packed, [0x3C00u16, 0xC000].map(u16::to_ne_bytes).concat());
    assert_eq!(DataType::F16.unpack(&packed), [1.0, -2.0]);
}

/// The condition on the tolerance: in the short formats no partial sum is ever rounded.
#[test]
fn whole_numbers_are_exact() {
    for case in case::quick().into_iter().chain(case::thorough()) {
        if !case.data_type.is_short() {
            continue;
        }
        let operands = Operands::for_case(&case);
        for number in operands.x.iter().chain(&operands.w).chain(&operands.y) {
            assert_eq!(
                case.data_type.unpack(&case.data_type.pack(&[*number])),
                [*number]
            );
        }
        let expected = reference::convolve(&case, &operands);
        let tolerance = Tolerance::for_case(&case, false, &expected);
        let limit = 2f64.powi(case.data_type.precision());
        for it in &expected {
            assert_eq!(it.value.fract(), 0.0);
            assert!(it.magnitude <= limit, "{case:?} {it:?}");
            assert_eq!(tolerance.bound(it), 0.25);
        }
    }
}

/// A sum of products in the format itself, in order, as in the worst engine, is within the tolerance. With one product
/// left out, it is not.
#[test]
fn right_results_pass_and_one_missing_product_fails() {
    for case in case::quick().into_iter().chain(case::thorough()) {
        let operands = Operands::for_case(&case);
        let expected = reference::convolve(&case, &operands);
        let tolerance = Tolerance::for_case(&case, false, &expected);
        let round = |value: f64| match case.data_type {
            DataType::F32 => f64::from(value as f32),
            // Truncated, not rounded: the worst that is allowed.
            DataType::Tf32 => f64::from(f32::from_bits((value as f32).to_bits() & 0xFFFF_E000)),
            short => f64::from(short.unpack(&short.pack(&[value as f32]))[0]),
        };
        let rounded = |numbers: &[f32]| -> Vec<f32> {
            numbers
                .iter()
                .map(|number| round(f64::from(*number)) as f32)
                .collect()
        };
        let cut = Operands {
            x: rounded(&operands.x),
            w: rounded(&operands.w),
            y: rounded(&operands.y),
            bias: operands.bias.clone(),
        };
        let sums = reference::convolve(&case, &cut);
        let sound: Vec<f32> = sums
            .iter()
            .map(|it| match case.data_type {
                DataType::Tf32 => it.value as f32,
                _ => round(it.value) as f32,
            })
            .collect();
        let comparison = compare(&sound, &expected, &tolerance);
        assert_eq!(comparison.wrong, 0, "{case:?} {comparison:?}");
        // A typical product is as large as the magnitude divided by the number of products; for small whole numbers, at
        // least 1.
        let middle = expected.len() / 2;
        let typical = match case.data_type.is_short() {
            true => 1.0,
            false => expected[middle].magnitude / case.products() as f64,
        };
        let mut broken = sound;
        broken[middle] += typical as f32;
        let comparison = compare(&broken, &expected, &tolerance);
        assert_eq!(comparison.wrong, 1, "{case:?} {comparison:?}");
    }
}

#[test]
fn a_comparison_takes_nothing_on_trust() {
    let case = case::FIRST;
    let expected = [1.0, 2.0, 3.0].map(|value| Expected {
        value,
        magnitude: 0.05,
    });
    let tolerance = Tolerance::for_case(&case, false, &expected);
    assert!(tolerance.bound(&expected[0]) < 1e-6 && tolerance.bound(&expected[0]) > 5e-7);
    let compare = |result: &[f32]| {
        let comparison = compare(result, &expected, &tolerance);
        (comparison.worst, comparison.wrong)
    };
    assert_eq!(compare(&[1.0, 2.0, 3.0]), (None, 0));
    assert_eq!(compare(&[1.0, 2.0]), (Some(2), 1));
    assert_eq!(compare(&[1.0, f32::NAN, 3.0]), (Some(1), 1));
    assert_eq!(compare(&[1.5, f32::NAN, 3.0]), (Some(1), 2));
    assert_eq!(compare(&[f32::INFINITY, 2.0, 3.0]), (Some(0), 1));
    assert_eq!(compare(&[1.25, 2.5, 3.0]), (Some(1), 2));
    assert_eq!(compare(&[]), (Some(0), 3));
}

/// TF32 keeps ten bits of each factor. It must fail as single precision, and pass as TF32.
#[test]
fn tf32_fails_as_single_precision_and_passes_as_tf32() {
    let operands = Operands::for_case(&case::FIRST);
    let round = |values: &[f32]| -> Vec<f32> {
        values
            .iter()
            .map(|v| f32::from_bits((v.to_bits() + 0x1000) & 0xFFFF_E000))
            .collect()
    };
    let rounded = Operands {
        x: round(&operands.x),
        w: round(&operands.w),
        y: Vec::new(),
        bias: Vec::new(),
    };
    let rounded: Vec<f32> = reference::convolve(&case::FIRST, &rounded)
        .iter()
        .map(|it| it.value as f32)
        .collect();
    let expected = reference::convolve(&case::FIRST, &operands);
    let strict = Tolerance::for_case(&case::FIRST, false, &expected);
    let comparison = compare(&rounded, &expected, &strict);
    assert!(comparison.wrong > expected.len() / 2, "{comparison:?}");
    let loose = Case {
        data_type: DataType::Tf32,
        ..case::FIRST
    };
    let loose = Tolerance::for_case(&loose, false, &expected);
    assert_eq!(compare(&rounded, &expected, &loose).wrong, 0);
}

#[test]
fn algorithms_have_cudnns_names() {
    let named = |operation| Algorithm::usual(operation).map(|one| (one.number, one.to_string()));
    let names = |first: &str, second: &str| [(1, first.to_string()), (0, second.to_string())];
    for operation in [Operation::Forward, Operation::Fused] {
        let expected = names("IMPLICIT_PRECOMP_GEMM", "IMPLICIT_GEMM");
        assert_eq!(named(operation), expected);
    }
    for operation in [Operation::BackwardData, Operation::BackwardFilter] {
        assert_eq!(named(operation), names("ALGO_1", "ALGO_0"));
    }
}
