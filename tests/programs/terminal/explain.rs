//! The output of `cudnn-guard explain`, and the completeness of its pages.

use cudnn_guard::FindingId;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Returns every page of `docs/findings.md`, with its heading.
fn texts() -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/findings.md");
    let all = fs::read_to_string(file).expect("the texts");
    let texts = all.split("\n\n# ").skip(1);
    texts.map(|text| format!("# {text}")).collect()
}

fn text_of(id: &str) -> String {
    let heading = format!("# {id}\n");
    let text = texts().into_iter().find(|text| text.starts_with(&heading));
    text.unwrap_or_else(|| panic!("{id} has no text"))
}

fn explain(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
        .arg("explain")
        .args(arguments)
        .env_clear()
        .output()
        .expect("cudnn-guard runs")
}

#[track_caller]
fn must_print(output: &Output, code: i32, stdout: &str, stderr: &str) {
    assert_eq!(String::from_utf8_lossy(&output.stdout), stdout);
    assert_eq!(String::from_utf8_lossy(&output.stderr), stderr);
    assert_eq!(output.status.code(), Some(code));
}

#[test]
fn every_id_has_a_page_in_the_order_of_the_ids() {
    let texts = texts();
    let headings = texts.iter().flat_map(|text| text.lines().next());
    let wanted: Vec<String> = FindingId::ALL.iter().map(|id| format!("# {id}")).collect();
    assert_eq!(headings.collect::<Vec<_>>(), wanted);
}

#[test]
fn every_page_has_its_sections_and_a_command_to_confirm_the_finding() {
    for id in FindingId::ALL {
        let text = text_of(id.as_str());
        let lines: Vec<&str> = text.lines().collect();
        let headings = lines
            .iter()
            .filter(|line| line.starts_with("# ") || line.starts_with("##"));
        let headings: Vec<&str> = headings.copied().collect();
        assert_eq!(
            headings,
            [
                &format!("# {id}"),
                "## What it means",
                "## How to confirm it",
                "## How to fix it"
            ],
            "{id}"
        );
        // The list of known bugs grows.
        let length = lines
            .iter()
            .filter(|line| !line.contains("`, cuDNN "))
            .count();
        assert!((10..=50).contains(&length), "{id}: {length} lines");
        let summary = lines[2];
        assert!(
            summary.ends_with('.') && lines[3].is_empty(),
            "{id}: {summary}"
        );
        assert_eq!(
            lines.iter().filter(|line| **line == "```sh").count(),
            1,
            "{id}"
        );
        let fix = lines
            .iter()
            .position(|line| *line == "## How to fix it")
            .expect("the section");
        assert!(
            lines[fix + 2..].iter().all(|line| line.starts_with("- ")),
            "{id}"
        );
        // Without pairs of backticks, half a line would be shown as a command.
        for line in &lines[fix..] {
            assert_eq!(line.matches('`').count() % 2, 0, "{id}: {line}");
        }
    }
}

/// Pages about installing something cover every platform and package manager.
#[test]
fn pages_about_installing_cover_every_platform() {
    let places = "Debian Ubuntu Fedora Arch conda pip Windows Jetson containers";
    for id in [
        "cuda-not-found",
        "cudnn-not-found",
        "cudnn-headers-missing",
        "nvcc-not-found",
        "partial-toolkit",
        "cuda-requirement-unmet",
        "cudnn-requirement-unmet",
        "parts-missing",
        "library-damaged",
        "cudnn-not-loadable",
        "cudnn-version-mismatch",
    ] {
        let text = text_of(id);
        let fix = text.split("## How to fix it").nth(1).expect("a section");
        for place in places.split(' ') {
            assert!(
                fix.lines()
                    .any(|line| line.starts_with("- ") && line.contains(place)),
                "{id} does not mention {place}"
            );
        }
    }
}

/// Pages refer only to findings that exist.
#[test]
fn references_to_other_pages_are_valid() {
    for id in FindingId::ALL {
        for pointed in text_of(id.as_str()).split("see `").skip(1) {
            let mut quoted = pointed.split('`');
            let first = quoted.next().unwrap_or_default();
            let second = quoted.next().filter(|between| *between == " and ");
            let second = second.and_then(|_| quoted.next());
            for pointed in [Some(first), second].into_iter().flatten() {
                assert!(
                    FindingId::parse(pointed).is_some(),
                    "{id} points to {pointed}"
                );
            }
        }
    }
}

#[test]
fn without_an_id_all_findings_are_listed() {
    let listed = explain(&[]);
    assert_eq!(listed.status.code(), Some(0));
    let listed = String::from_utf8(listed.stdout).expect("text");
    let wanted: Vec<String> = FindingId::ALL
        .iter()
        .map(|id| {
            format!(
                "{id:25}  {}",
                text_of(id.as_str()).lines().nth(2).expect("a summary")
            )
        })
        .collect();
    assert_eq!(listed.lines().collect::<Vec<_>>(), wanted);
}

#[test]
fn a_page_is_printed_in_full() {
    let page = "\
device-busy
The GPU is in use in a way that prevents testing cuDNN on it.

What it means
  The GPU is in exclusive mode and used by another process, or another process
  was using it at that moment. This does not show whether cuDNN works, so the
  result is unknown, and the program continues.

  The guard skips a GPU in exclusive mode, because no other process can get the
  GPU while the guard uses it. It skips a GPU that is shared through MPS,
  because a fault would crash the other processes. If several ranks share a GPU,
  only one of them tests it. CUDNN_GUARD_DEVICES overrides these rules. The
  guard also skips a GPU if the program already uses CUDA and is capturing work
  into a graph.

How to confirm it
    nvidia-smi
    nvidia-smi --query-gpu=index,compute_mode --format=csv

  Windows, in PowerShell:
    nvidia-smi --query-gpu=index,compute_mode --format=csv
    nvidia-smi --query-compute-apps=pid,process_name --format=csv

How to fix it
  - wait for the other process, or end it if it is yours: `nvidia-smi` shows its
    process id
  - share the GPU again: `sudo nvidia-smi -c DEFAULT`
  - choose another GPU: `CUDA_VISIBLE_DEVICES=1`
  - MPS: `echo get_server_list | nvidia-cuda-mps-control` shows whether it runs
    as you expect
  - Windows: run `nvidia-smi -c DEFAULT` in a terminal as administrator; end a
    process in Task Manager, Details
  - containers: check for GPU processes on the host, because a container does
    not show those of the host and of other containers
";
    must_print(&explain(&["device-busy"]), 0, page, "");
    // In brackets, as printed after a headline.
    must_print(&explain(&["[device-busy]"]), 0, page, "");
}

#[test]
fn several_ids_are_explained() {
    let page = |id| String::from_utf8_lossy(&explain(&[id]).stdout).into_owned();
    let both = page("no-gpu") + "\n" + &page("device-busy");
    must_print(&explain(&["no-gpu", "[device-busy]"]), 0, &both, "");
    let json = explain(&["no-gpu", "device-busy", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["pages"].as_array().map(Vec::len), Some(2));
    // The pages of the others are printed, and then the error.
    let unknown = "unknown finding `device-bsy`\n  \
         = help: run `cudnn-guard explain device-busy`\n  \
         = help: run `cudnn-guard explain` for a list of all findings\n";
    let mixed = explain(&["no-gpu", "device-bsy", "device-busy"]);
    must_print(&mixed, 2, &both, unknown);
    let two = explain(&["device-bsy", "no-gpu", "device-bsy"]);
    must_print(&two, 2, &page("no-gpu"), &unknown.repeat(2));
    let json = explain(&["device-bsy", "no-gpu", "--json"]);
    assert_eq!(json.status.code(), Some(2));
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["pages"][0]["id"], "no-gpu");
}

#[test]
fn an_unknown_id_gets_the_nearest_as_a_suggestion() {
    must_print(
        &explain(&["driver-missing\u{1b}[2J"]),
        2,
        "",
        "unknown finding `driver-missing\\u{1b}[2j`\n  \
         = help: run `cudnn-guard explain driver-missing`\n  \
         = help: run `cudnn-guard explain` for a list of all findings\n",
    );
    must_print(
        &explain(&["drivr-mising"]),
        2,
        "",
        "unknown finding `drivr-mising`\n  \
         = help: run `cudnn-guard explain driver-missing`\n  \
         = help: run `cudnn-guard explain` for a list of all findings\n",
    );
}

/// Runs `explain` with this standard input.
fn explain_input(input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
        .arg("explain")
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("cudnn-guard runs");
    // cudnn-guard does not read beyond its limit.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    child.wait_with_output().expect("cudnn-guard exits")
}

const NOTHING_KNOWN: &str = "  = help: run `cudnn-guard doctor` to check this machine\n  \
     = help: run `cudnn-guard inspect PROGRAM` to check a program that fails to start\n";

#[test]
fn a_message_is_explained_with_the_page_of_its_finding() {
    let page = explain(&["parts-mixed"]).stdout;
    let explained = format!(
        "\
CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH
  The loaded cuDNN sub-libraries have different versions. cuDNN 9.20 also opens
  `libcudnn_engines_tensor_ir`, which its packages do not contain, and so takes
  that of a newer cuDNN of the system.
  = help: remove the other cuDNN from LD_LIBRARY_PATH (PATH on Windows), or
          install one complete version, 9.21 or later if the other has to stay

{}",
        String::from_utf8_lossy(&page)
    );
    must_print(
        &explain(&["CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH"]),
        0,
        &explained,
        "",
    );
}

#[test]
fn a_message_without_a_finding_is_explained() {
    let explained = "\
Unsupported cuda toolkit version: `13.4`. Please raise a github issue.
  The build script of cudarc has a fixed list of CUDA versions, and 13.4 is not
  in it.
  = help: update cudarc, or set CUDARC_CUDA_VERSION to a version that it knows:
          `cudnn-guard doctor`, run in the crate, names one
";
    let message = "Unsupported cuda toolkit version: `13.4`. Please raise a github issue.";
    must_print(&explain(&[message]), 0, explained, "");
    // No id contains an uppercase letter.
    let explained = "\
cudaErrorLaunchTimeout
  A kernel ran longer than the system allows on a GPU that drives a display
  (702).
  = help: use a GPU that drives no display, or start kernels with less work
";
    must_print(&explain(&["cudaErrorLaunchTimeout"]), 0, explained, "");
}

#[test]
fn the_messages_of_a_log_are_explained_the_most_specific_first() {
    let log = b"   Compiling app v0.1.0 (/home/me/app)
error: linking with `cc` failed: exit status: 1
  |
  = note:  \"cc\" \"-m64\" \"/tmp/rustcX/symbols.o\" \"-lcudnn\" \"-lcudart\"
  = note: /usr/bin/ld: cannot find -lcudnn: No such file or directory\r
          /usr/bin/ld: cannot find -lcudart: No such file or directory
          collect2: error: ld returned 1 exit status
\x1b[1mnvcc fatal   :\x1b[0m Unsupported gpu architecture '\xe2\x80\xaecompute_\xff120'
error: could not compile `app` (bin \"app\") due to 1 previous error
";
    let explained = "\
nvcc fatal   : Unsupported gpu architecture 'compute_\u{fffd}120'
  This nvcc does not support `compute_\u{fffd}120`. Each CUDA version supports a range
  of GPUs, and this one is newer or older.
  = help: remove this target from the list, or install a CUDA that supports it:
          Blackwell needs 12.8 or later, and 12.9 is the last for 5.0 to 7.2
  see         cudnn-guard explain arch-unsupported-by-nvcc

= note: /usr/bin/ld: cannot find -lcudnn: No such file or directory
  The linker does not find `libcudnn.so`: the searched directories contain no
  cuDNN, or only `libcudnn.so.9`, as in NVIDIA's wheels.
  = help: install cuDNN with its development files, or set CUDNN_PATH to a
          directory that contains it
  see         cudnn-guard explain cudnn-not-found

/usr/bin/ld: cannot find -lcudart: No such file or directory
  The linker does not find `libcudart`, which belongs to the development parts
  of the CUDA toolkit.
  = help: install the development packages of the toolkit, or set CUDA_HOME to a
          complete toolkit
  see         cudnn-guard explain partial-toolkit
";
    must_print(&explain_input(log), 0, explained, "");
}

#[test]
fn nothing_is_known_about_a_valid_log() {
    let log = b"   Compiling app v0.1.0 (/home/me/app)
     Running `rustc --crate-name app -L /opt/cudnn/lib -l dylib:+verbatim=libcudnn.so.9 -lcudart -lcuda`
warning: app@0.1.0: linked to /opt/cudnn/lib/libcudnn.so.9 and libcuda.so.1, compiled for sm_120
    Finished `release` profile [optimized] target(s) in 1m 10s
";
    let stderr = format!("nothing is known about these messages\n{NOTHING_KNOWN}");
    must_print(&explain_input(log), 2, "", &stderr);
    let stderr = format!("nothing is known about this message\n{NOTHING_KNOWN}");
    must_print(&explain(&["segmentation fault, \u{1b}[2J"]), 2, "", &stderr);
    must_print(&explain(&["/usr/lib/libcudnn.so.9"]), 2, "", &stderr);
}

/// The first message is far before the end, and then there are more messages than are kept.
#[test]
#[ignore = "explains 16 MB without optimization"]
fn a_long_log_is_explained_up_to_a_limit() {
    let end = b"warning: unused\n".repeat(5 << 16);
    let mut input = b"\xff cannot find -lcudnn\n".to_vec();
    let read = explain_input(&[&input[..], &end].concat());
    assert!(String::from_utf8_lossy(&read.stdout).contains("cudnn-not-found"));
    assert!(read.stderr.is_empty(), "{read:?}");
    let spaces = " ".repeat(1 << 20);
    for number in 0..5 {
        input.extend(format!("{number}: Unable to load libcurand.so.10{spaces}\n").bytes());
    }
    let read = explain_input(&[&input[..], &end].concat());
    assert!(String::from_utf8_lossy(&read.stdout).contains("cudnn-not-found"));
    let note = "only the first messages of the input and its last 4 MiB are explained\n";
    assert_eq!(String::from_utf8_lossy(&read.stderr), note);
}

/// Tests text copied from a narrow Windows terminal, and from cargo, which prints Rust's `Debug` format.
#[test]
fn a_wrapped_or_escaped_message_is_explained() {
    let wrapped =
        b"Failed to create CUDAE\r\nxecutionProvider. Require cuDNN 9.* and CUDA 12.*, and\r\n";
    let loading =
        b"OSError: [WinError 126] The specified module could not be found. Error loading\r\n  \
        \"C:\\venv\\torch\\lib\\cudnn64_9.dll\" or one of its dependencies.\r\n";
    let escaped =
        br#"log: "default_program(1): catastrophic error: cannot open source file \"cuda_fp16.h\"""#;
    for (input, expected) in [
        (&wrapped[..], "It is built for cuDNN 9 and CUDA 12"),
        (&loading[..], "cudnn64_9.dll` is missing"),
        (&escaped[..], "no directory that contains `cuda_fp16.h`"),
    ] {
        let stdout = String::from_utf8(explain_input(input).stdout).expect("text");
        let words: Vec<&str> = stdout.split_whitespace().collect();
        assert!(words.join(" ").contains(expected), "{stdout}");
    }
}

/// Only a terminal and `/dev/null` mean that no message is given.
#[test]
fn an_empty_input_is_a_usage_error() {
    let stderr = "there is no message to explain: the input is empty\n  \
         = help: run `cudnn-guard explain \"MESSAGE\"`, or pipe the output of the command that failed\n";
    must_print(&explain_input(b""), 2, "", stderr);
    must_print(&explain_input(b" \r\n"), 2, "", stderr);
    must_print(&explain(&[""]), 2, "", stderr);
}

/// The library is named by one line, and the exit status by another.
#[test]
fn the_parts_of_a_line_are_explained_before_a_row_without_a_cause() {
    let log = b"./app: error while loading shared libraries: libcublas.so.12: cannot open shared object file\n\
        error: process didn't exit successfully: `target/debug/app` (exit status: 127)\n\
        note: cudaMalloc failed\n";
    let explained = "\
./app: error while loading shared libraries: libcublas.so.12: cannot open shared object file
  The loader cannot find or load `libcublas.so.12`, a library of CUDA 12, or a
  library that it needs. The caller was built for this version.
  = help: install `libcublas-12-X` of NVIDIA's repository (X is the minor
          version) or `nvidia-cublas-cu12` of PyPI if it is missing, or add its
          directory to LD_LIBRARY_PATH (PATH on Windows);
          `cudnn-guard inspect PROGRAM` shows where the loader searches
  see         cudnn-guard explain library-not-found
";
    must_print(&explain_input(log), 0, explained, "");
    let status = explain(&["-- Could NOT find CUDAToolkit (missing: CUDAToolkit_INCLUDE_DIR)"]);
    assert_eq!(status.status.code(), Some(0), "{status:?}");
}

/// The same status has another cause in a program with AddressSanitizer.
#[test]
fn another_line_can_tell_the_circumstances_of_a_message() {
    let message = "Error: DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")\n";
    let text = |input: String| {
        let stdout = explain_input(input.as_bytes()).stdout;
        let text = String::from_utf8(stdout).expect("text");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let alone = text(message.to_string());
    assert!(
        alone.contains("In most cases the memory of the GPU is used up"),
        "{alone}"
    );
    let sanitized = text(format!(
        "{message}==42==ERROR: LeakSanitizer: detected memory leaks\n"
    ));
    assert!(
        sanitized.contains("runs with AddressSanitizer"),
        "{sanitized}"
    );
    assert!(!sanitized.contains("used up"), "{sanitized}");
}

/// The guard of a program without other calls of cuDNN refers to cuDNN too.
#[test]
fn a_forgotten_call_of_link_is_recognized_by_the_guard() {
    let line = "  = note: rust-lld: error: undefined symbol: cudnnGetVersion\n";
    let text = |input: &str| {
        let output = explain_input(input.as_bytes());
        String::from_utf8(output.stdout).expect("text")
    };
    let guard = "          >>>               app.rcgu.o:(app::gpu::imp::KEEP::h4f9e6e3192348798)\n";
    assert_eq!(
        text(&format!("{line}{guard}")),
        "= note: rust-lld: error: undefined symbol: cudnnGetVersion\n  \
         The guard of cudnn-guard calls `cudnnGetVersion` of the cuDNN that the program\n  \
         is linked with, but the program is not linked with cuDNN.\n  \
         = help: add a call of `link()` on the toolchain to build.rs, after the calls\n          \
         that compile kernels or C code; if the program opens cuDNN itself,\n          \
         call `.link(Link::Runtime)` on the `Config` instead\n"
    );
    let other = text(line);
    assert!(
        other.contains("println!(\"cargo::rustc-link-lib=cudnn\");"),
        "{other}"
    );
}

#[test]
fn nothing_is_known_about_the_logs_of_valid_setups() {
    let logs = include_str!("valid_logs.txt");
    for log in logs.split("=== ").skip(1) {
        let (name, log) = log.split_once('\n').expect("a log");
        let output = explain_input(log.as_bytes());
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(2), "{name}: {stdout}");
    }
}

/// The JSON of an id, of messages, of nothing known, and of all pages.
#[test]
fn the_json_has_pages_and_matches() {
    let json = |arguments: &[&str], code: i32, stderr: &str| {
        let output = explain(&[&["--json"], arguments].concat());
        assert_eq!(String::from_utf8_lossy(&output.stderr), stderr);
        assert_eq!(output.status.code(), Some(code));
        crate::support::schema::valid(&String::from_utf8(output.stdout).unwrap())
    };
    let page = |id: &str| {
        let text = text_of(id);
        let (_, text) = text.split_once("\n\n").unwrap();
        serde_json::json!({ "id": id, "text": text })
    };
    let of_id = json(&["[no-gpu]"], 0, "");
    assert_eq!(of_id["verdict"], "unknown");
    assert_eq!(of_id["pages"], serde_json::json!([page("no-gpu")]));
    assert_eq!(of_id["matches"], serde_json::json!([]));
    let of_message = json(&["ld: cannot find -lcudnn"], 0, "");
    assert_eq!(
        of_message["pages"],
        serde_json::json!([page("cudnn-not-found")])
    );
    assert_eq!(of_message["matches"][0]["id"], "cudnn-not-found");
    assert_eq!(of_message["matches"][0]["line"], "ld: cannot find -lcudnn");
    let unknown = json(
        &["quite-unknown"],
        2,
        "unknown finding `quite-unknown`\n  \
         = help: run `cudnn-guard explain` for a list of all findings\n",
    );
    assert_eq!(unknown["verdict"], "unknown");
    assert_eq!(unknown["pages"], serde_json::json!([]));
    let all = json(&[], 0, "");
    assert_eq!(all["pages"].as_array().unwrap().len(), texts().len());
}
