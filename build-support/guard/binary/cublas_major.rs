//! The major number of CUDA in the name of the cuBLAS that a part of cuDNN opens.

use std::io::BufRead;

/// Linkers put the strings before the tables of numbers or behind them: so much is searched at a time.
const BLOCK: usize = 64 << 10;

/// More than such a name has.
const NAME: usize = 64;

/// The number behind such a name among the constants of a file. The name is given in two halves, `libcublasL` and
/// `t.so.`.
pub fn cublas_major(constants: &[u8], before: &[u8], behind: &[u8]) -> Option<u32> {
    let block = |start: usize| {
        let end = constants.len().min(start + BLOCK + NAME);
        major_in(constants.get(start..end)?, before, behind)
    };
    let first = block(0);
    let mut start = constants.len();
    while first.is_none() && start > BLOCK {
        start -= BLOCK;
        if let Some(major) = block(start) {
            return Some(major);
        }
    }
    first
}

fn major_in(constants: &[u8], before: &[u8], behind: &[u8]) -> Option<u32> {
    let mut rest = constants;
    // `skip_until` comes compiled with optimisation; a loop over bytes in a build script does not.
    while rest.skip_until(b'L').is_ok_and(|skipped| skipped > 0) && !rest.is_empty() {
        // Most of the letters are numbers in tables: one byte tells that, before anything is compared.
        if rest.first() != behind.first() {
            continue;
        }
        let passed = constants.get(..constants.len() - rest.len())?;
        if let (true, Some(tail)) = (passed.ends_with(before), rest.strip_prefix(behind)) {
            let digits = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let number = std::str::from_utf8(tail.get(..digits)?).ok();
            if let Some(major) = number.and_then(|digits| digits.parse().ok()) {
                return Some(major);
            }
        }
    }
    None
}
