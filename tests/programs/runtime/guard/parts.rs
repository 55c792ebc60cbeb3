//! Unusual files of sub-libraries, limits and mounts.

use super::program::{GPU, check, run, startup};
use crate::support::installation::sound;
use cudnn_guard::internals::binary::elf::Elf;
use cudnn_guard::internals::facts::{Severity, Version};
use cudnn_guard::internals::install::refusal;
use cudnn_guard::internals::loader::refused_library;
use std::path::Path;

/// As by `eu-strip --strip-sections`: the loader reads no sections, and fills the last page with zeros.
#[test]
fn a_cudnn_without_sections_passes() {
    let cudnn = sound();
    for entry in std::fs::read_dir(&cudnn.0).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        // The section header table: its offset, the number of its entries and the index of their names.
        bytes[40..48].fill(0);
        bytes[60..64].fill(0);
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let rows = (64..).step_by(56).take(usize::from(bytes[56]));
        let mapped = rows.filter(|row| bytes[*row..row + 4] == [1, 0, 0, 0]);
        let end = mapped.map(|row| number(row + 8) + number(row + 32)).max();
        let end = end.unwrap() - 4;
        assert!(end % 4096 > 0, "the last page has another byte");
        bytes.truncate(usize::try_from(end).unwrap());
        std::fs::write(&path, bytes).unwrap();
    }
    run("load", &cudnn.0, &[]).must_end_with(0);
    startup(&cudnn, &[GPU]).must_be_silent();
    check(&cudnn, &[GPU]).must_be("pass", &[]);
    let graph = Elf::open(&cudnn.file("libcudnn_graph.so.9")).unwrap();
    let (version, _) = graph.release("graph").unwrap();
    assert_eq!(version, Version::new(9, 14, 0));
    // Its device code may be anywhere.
    assert_eq!(graph.device_code(), None);
    // Without its last page, the process would die in dlopen with SIGBUS.
    let page = graph.length() / 4096 * 4096;
    let cudnn = cudnn.cut("libcudnn_graph.so.9", page);
    check(&cudnn, &[GPU]).must_be("fail", &["library-damaged"]);
}

#[test]
fn a_sub_library_for_another_cpu_is_reported() {
    // Byte 18 is the low byte of the machine: 183 is aarch64, 62 is x86_64.
    let other = if cfg!(target_arch = "x86_64") {
        183
    } else {
        62
    };
    for (at, byte) in [(18, other), (4, 1)] {
        let cudnn = sound().with_byte("libcudnn_cnn.so.9", at, byte);
        check(&cudnn, &[GPU]).must_be("fail", &["wrong-architecture"]);
    }
}

/// This is glibc's message. cuDNN or the program itself may have opened the last permitted files.
#[test]
fn a_limit_on_open_files_is_not_a_fault_of_cudnn() {
    let words = "/x/libcudnn_graph.so.9: cannot open shared object file: Too many open files";
    let finding = refusal::finding(Path::new("/x/libcudnn_graph.so.9"), words);
    assert_eq!(
        finding.to_string(),
        format!(
            "this process has reached its limit on open files, so cuDNN could not be checked  [io-error]\n  \
             = help: raise the limit: `ulimit -n 4096`\n  \
             reason      {words}"
        )
    );
    assert_eq!(finding.severity, Severity::Warning);
}

/// The formats are described in proc(5).
#[test]
fn limits_and_mounts_are_read() {
    let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
        Max data size             3145728              unlimited            bytes     \n\
        Max address space         2097152              unlimited            bytes     \n";
    assert_eq!(refused_library::limit(limits), Some((2, "ulimit -v")));
    let (data, _) = limits.split_once("Max address").unwrap();
    assert_eq!(refused_library::limit(data), Some((3, "ulimit -d")));
    assert_eq!(
        refused_library::limit(
            &limits
                .replace("2097152", "unlimited")
                .replace("3145728", "unlimited")
        ),
        None
    );
    let mounts = "\
        29 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n\
        30 29 0:5 / /opt/a\\040b rw,nosuid,noexec,relatime shared:2 - tmpfs none rw,noexec\n\
        31 30 0:6 / /opt/a\\040b/c rw - tmpfs none rw,noexec\n";
    let on = |file: &str| refused_library::noexec_mount(mounts, Path::new(file));
    assert_eq!(on("/opt/a b/lib/libcudnn.so.9"), Some("/opt/a b".into()));
    assert_eq!(on("/opt/a b/c/libcudnn.so.9"), None);
    assert_eq!(on("/opt/a/libcudnn.so.9"), None);
}
