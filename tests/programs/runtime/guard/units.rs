//! Single functions of the guard.

use super::program;
use crate::support::installation::{Folder, compile};
use cudnn_guard::internals::child::exit_status::ExitStatus;
use cudnn_guard::internals::child::protocol::ChildReport;
use cudnn_guard::internals::child::{Sink, in_process};
use cudnn_guard::internals::convolution::case_result::{Api, CaseResult};
use cudnn_guard::internals::cudnn::data_type::DataType;
use cudnn_guard::internals::cudnn::operation::Operation;
use cudnn_guard::internals::cudnn::shape::Layout;
use cudnn_guard::internals::driver::devices::Devices;
use cudnn_guard::internals::facts::codec::{each_line, line};
use cudnn_guard::internals::facts::{Built, Fields, Policy, Requirement, Verdict, Version};
use cudnn_guard::internals::install::dlopen_dependencies::SuspectLibrary;
use cudnn_guard::internals::install::mixed_sub_libraries::Replacement;
use cudnn_guard::internals::install::sub_library_file::SubLibraryFile;
use cudnn_guard::internals::install::{installed, missing_dlopen};
use cudnn_guard::internals::judge::program_rules;
use cudnn_guard::internals::loader::elf::dlerror_messages;
use cudnn_guard::internals::loader::system::System;
use cudnn_guard::internals::loader::{LoadOrigin, SearchPath};
use cudnn_guard::internals::loader::{file_name, not_found};
use cudnn_guard::internals::report::env_config::{EnvConfig, Mode, RequireGpu};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

fn built(policy: Policy) -> Built {
    Built {
        policy,
        ..program::built()
    }
}

#[test]
fn a_mismatch_lists_the_compatible_versions() {
    let text = |built: &Built, loaded| {
        let mismatch = program_rules::version(built, loaded).unwrap_err();
        let required = mismatch.required_cudnn();
        let path = Path::new("/opt/dnn/lib/libcudnn.so.9");
        let replacement = Replacement::new(&LoadOrigin::Elsewhere, path, &[], &|_| true);
        let mut finding = mismatch.finding(Vec::new(), &replacement, None);
        assert!(finding.help.remove(0).contains(&required));
        format!("{finding}\n{required}")
    };
    assert_eq!(
        text(&built(Policy::Compatible), Version::new(8, 9, 7)),
        "loaded cuDNN 8.9.7 has a different major version than 9.14.0, which this program was built with  \
         [cudnn-version-mismatch]\n  built with  9.14.0 (compatible: 9.14 or later 9.x)\ncuDNN 9.14 or later 9.x"
    );
    assert_eq!(
        text(&built(Policy::Exact), Version::new(9, 14, 1)),
        "loaded cuDNN 9.14.1 is newer than 9.14.0, which this program was built with  \
         [cudnn-version-mismatch]\n  built with  9.14.0 (compatible: 9.14.0)\ncuDNN 9.14.0"
    );
    assert_eq!(
        text(&built(Policy::SameMinor), Version::new(9, 15, 0)),
        "loaded cuDNN 9.15.0 is newer than 9.14.0, which this program was built with  \
         [cudnn-version-mismatch]\n  built with  9.14.0 (compatible: 9.14.x)\ncuDNN 9.14.x"
    );
    let wanted = Requirement {
        text: ">=9.1, <10".into(),
        from: Version::new(9, 1, 0),
        below: Some(Version::new(10, 0, 0)),
    };
    assert_eq!(
        text(
            &Built {
                requirement: Some(wanted.clone()),
                ..built(Policy::Requirement)
            },
            Version::new(8, 9, 7)
        ),
        "loaded cuDNN 8.9.7 does not meet the requirement `>=9.1, <10` of this program  \
         [cudnn-version-mismatch]\n  built with  the requirement `>=9.1, <10`\na cuDNN that meets `>=9.1, <10`"
    );
}

/// 9.10 is later than 9.9, although its name sorts before it.
#[test]
fn the_newest_of_full_names_is_chosen_by_number() {
    let folder = Folder::new();
    for tail in ["9.9.0", "9.10.0", "9.8.7", "9.9.0.orig", "11.x"] {
        std::fs::write(folder.file(&format!("libcudnn_cnn.so.{tail}")), "").unwrap();
    }
    assert_eq!(
        installed::full_name(&folder.0, "libcudnn_cnn.so.9"),
        Some(folder.file("libcudnn_cnn.so.9.10.0"))
    );
    assert_eq!(installed::full_name(&folder.0, "libcudnn_ops.so.9"), None);
}

/// The loader continues after a failed attempt, and the last one is the reason.
#[test]
fn the_last_missing_library_in_an_output_is_named() {
    let lines = ["libnvrtc.so.12", "libcublasLt.so.13", "libcudnn_ops.so.9"];
    let line =
        |name| format!("{name}: cannot open shared object file: No such file or directory\n");
    let name = missing_dlopen::name_in(&lines.map(line).concat());
    assert_eq!(name.as_deref(), Some("libcublasLt.so.13"));
}

#[test]
fn a_directory_and_a_link_to_it_are_one_directory() {
    let folder = Folder::new().with_link("link", ".");
    let file = SubLibraryFile::new("graph", folder.file("x.so"), None, true);
    assert!(file.is_in(&folder.file("link")));
    assert!(!file.is_in(folder.0.parent().unwrap()));
}

/// A machine without a driver has no `libcuda.so`, which needs no explanation.
#[test]
fn a_plain_driver_is_only_suspected_if_the_driver_exists() {
    let image = Folder::new();
    let system = System {
        root: Some(image.0.clone()),
        ..System::default()
    };
    let path = SearchPath {
        system,
        directories: vec![LoadOrigin::LibraryPath(image.0.clone()).into()],
        ..SearchPath::default()
    };
    let is_suspect =
        |name| SuspectLibrary::missing(Path::new("libx.so"), name, 13, &path).is_some();
    assert!(is_suspect("libnvrtc.so.13"));
    assert!(!is_suspect("libcuda.so"));
    compile("int nothing;", &image.file("libcuda.so.1"), &[]);
    assert!(is_suspect("libcuda.so"));
}

/// A driver that exists is not missing if the loader refuses it.
#[test]
fn a_refused_driver_is_not_a_missing_one() {
    let folder = Folder::new();
    let driver = folder.file("libcuda.so.1");
    let words = format!("{}: undefined symbol: gone", driver.display());
    let is_missing = || dlerror_messages::requires_driver(Path::new("libcudnn.so.9"), &words);
    assert!(is_missing());
    compile("int nothing;", &driver, &[]);
    assert!(!is_missing());
}

/// The newest known major is installed, or the one that is required, although it is unknown.
#[test]
fn a_major_can_be_installed_for_every_requirement() {
    let majors = [vec![10, 9, 8], vec![12, 11], Vec::new()];
    let installed = majors.map(|majors| not_found::installable(&majors));
    assert_eq!(installed, [Some(9), Some(12), None]);
}

#[test]
fn sub_library_names_are_parsed() {
    let name = |file: &str| file_name::parse(Path::new(file));
    let part = |name: &str, major| Some((name.to_string(), major));
    assert_eq!(name("/x/libcudnn.so.9"), part("", Some(9)));
    assert_eq!(
        name("libcudnn_ops_infer.so.8.9.7"),
        part("ops_infer", Some(8))
    );
    assert_eq!(name("libcudnn.so"), part("", None));
    for other in [
        "libcudnn_static.a",
        "libcudnnfoo.so.9",
        "libcudnn.so.x",
        "libcudnn.sox",
        "libcuda.so.1",
    ] {
        assert_eq!(name(other), None, "{other}");
    }
}

#[test]
fn an_answer_of_the_child_keeps_its_outcomes() {
    let passed = CaseResult {
        device: "GPU\tof\nmine".to_string(),
        api: Api::Graph,
        operation: Operation::Forward,
        data_type: DataType::Tf32,
        layout: Layout::Nhwc,
        algorithm: "engine\t38".to_string(),
        verdict: Verdict::Pass,
        largest_error: Some(1.5e-3),
        milliseconds: 0.25,
        start: Some((100.5, 1.0)),
        tf32: Some(true),
        left_out: None,
        declined: false,
        finding: None,
    };
    let left_out = CaseResult {
        api: Api::Legacy,
        algorithm: String::new(),
        verdict: Verdict::Unknown,
        largest_error: None,
        start: None,
        tf32: None,
        left_out: Some("for\treasons".to_string()),
        ..passed.clone()
    };
    let failed = CaseResult {
        verdict: Verdict::Fail,
        tf32: Some(false),
        finding: Some(
            cudnn_guard::FindingId::ConvolutionWrong
                .error("wrong")
                .with("where", "here"),
        ),
        ..passed.clone()
    };
    let outcomes = [passed, left_out, failed];
    let mut lines = Vec::new();
    for outcome in &outcomes {
        lines.push(line("outcome", outcome));
        let finding = outcome.finding.iter();
        lines.extend(finding.map(|finding| line("outcome-finding", finding)));
    }
    let answer = ChildReport::parse(&(lines.join("\n") + "\n"), "");
    assert_eq!(answer.outcomes, outcomes);
}

/// This test runs in a separate process, because words are kept for the lifetime of a process.
#[test]
fn words_from_the_child_are_limited_and_printable() {
    const INSIDE: &str = "CUDNN_GUARD_TEST_WORDS";
    if std::env::var_os(INSIDE).is_none() {
        let name = "runtime::guard::units::words_from_the_child_are_limited_and_printable";
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let output = command.args(["--exact", name]).env(INSIDE, "1").output();
        let output = output.unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success() && stdout.contains("1 passed"),
            "{stdout}"
        );
        return;
    }
    let labels: String = (0..9000).map(|word| format!("{word} y ")).collect();
    let finding = format!("problem device-busy note busy \u{1b}[2J x {labels}\n");
    let problem = ChildReport::parse(&finding, "").problem.unwrap();
    let text = problem.to_string();
    assert!(text.contains("\n  \\u{1b}[2J   x\n"), "{text}");
    let mut words: Vec<&str> = problem.evidence.iter().map(|(label, _)| *label).collect();
    assert_eq!(words.len(), 9001);
    words.dedup();
    assert!((200..=257).contains(&words.len()), "{}", words.len());
}

#[test]
fn an_answer_of_the_child_keeps_its_text() {
    let finding = cudnn_guard::FindingId::ConvolutionWrong
        .error("a\tb\\n\nc")
        .with("printed", "one\ntwo")
        .with("empty", "")
        .help("do this")
        .help("that");
    let text = format!(
        "{}\n{}\n",
        line("problem", &finding),
        line("end", &"secret".to_string())
    );
    let answer = ChildReport::parse(&text, "secret");
    assert_eq!(answer.problem, Some(finding));
    assert!(answer.is_complete);
    let path = PathBuf::from(OsString::from_vec(b"/caf\xe9 \n".to_vec()));
    let map = format!("{}\nmap /plain\n", line("map", &path));
    assert_eq!(
        ChildReport::parse(&map, "").mapped,
        [path, PathBuf::from("/plain")]
    );
    // An answer with another token or an unfinished line is incomplete.
    assert!(!ChildReport::parse(&text, "other").is_complete);
    assert!(!ChildReport::parse(text.trim_end(), "secret").is_complete);
    assert_eq!(
        ChildReport::parse("version 9.14.0\ncudart 13\nversion\nx y\n", "").version,
        Some(Version::new(9, 14, 0))
    );
}

/// Spaces separate fields and a dash is a missing value, but text may contain both.
#[test]
fn a_line_keeps_any_text_in_any_field() {
    for text in ["", "-", "\\-", "a b", " ", "\\s", "a\\ b\n\r\t", "é"] {
        let one = text.to_string();
        let pair = (one.clone(), Some(one.clone()));
        assert_eq!(Fields::decode(&pair.encode()), Some(pair), "{text:?}");
        let absent = (one.clone(), None::<String>);
        assert_eq!(Fields::decode(&absent.encode()), Some(absent), "{text:?}");
        let list = vec![one.clone(), "x".to_string(), one];
        let line = line("key", &list);
        assert!(!line.contains(['\n', '\r', '\t']), "{line:?}");
        let mut read = Vec::new();
        let text = format!("{line}\n");
        each_line(&text, &mut |key, value| {
            read.push((key, Vec::<String>::decode(value).unwrap()));
        });
        assert_eq!(read, [("key", list)]);
    }
}

#[test]
fn the_operators_variables_are_parsed() {
    let read = |pairs: &'static [(&str, &str)]| {
        EnvConfig::parse(&|name| {
            let pair = pairs.iter().find(|pair| pair.0 == name);
            pair.map(|pair| pair.1.into())
        })
    };
    let none = read(&[]);
    assert_eq!(
        (none.mode, none.deadline, none.require_gpu),
        (Mode::Deny, Duration::from_secs(60), RequireGpu::No)
    );
    assert_eq!(none.thorough_deadline, Duration::from_secs(300));
    assert!(none.complaints.is_empty() && none.report.is_none());
    let some = read(&[
        ("CUDNN_GUARD", "warn"),
        ("CUDNN_GUARD_DEADLINE", "1e99"),
        ("CUDNN_GUARD_REQUIRE_GPU", "1"),
        ("CUDNN_GUARD_ALLOW", "a,b c, ,d"),
        ("CUDNN_GUARD_REPORT", "/tmp/x"),
    ]);
    assert_eq!(
        (some.mode, some.deadline, some.require_gpu),
        (Mode::Warn, Duration::from_secs(86_400), RequireGpu::Present)
    );
    assert_eq!(some.thorough_deadline, some.deadline);
    assert_eq!(some.allow.unknown_ids(), ["a", "b", "c", "d"]);
    assert!(none.allow.unknown_ids().is_empty());
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStringExt;
        let odd = std::ffi::OsString::from_vec(b"/tmp/\xff%p".to_vec());
        let given = odd.clone();
        let read = EnvConfig::parse(&move |name| {
            let wanted = name == "CUDNN_GUARD_REPORT";
            wanted.then(|| given.clone())
        });
        assert_eq!(read.report, Some(odd.into()));
    }
    let bad = read(&[
        ("CUDNN_GUARD_DEADLINE", "NaN"),
        ("CUDNN_GUARD_REQUIRE_GPU", "yes"),
        ("CUDNN_GUARD_DEVICES", "0,-1"),
    ]);
    assert_eq!(bad.complaints.len(), 3);
    assert_eq!(
        bad.complaints[1].finding().summary,
        "CUDNN_GUARD_REQUIRE_GPU=\"yes\" is not one of 0, 1, strict; using 0"
    );
    assert_eq!(
        bad.findings()[2].to_string(),
        "CUDNN_GUARD_DEVICES=\"0,-1\" is not `all` or a comma-separated list of numbers; using the first visible GPU  [variable-unusable]"
    );
    assert_eq!(
        read(&[("CUDNN_GUARD_DEVICES", "0, 2,0,2,2")]).devices,
        Devices::Listed(vec![0, 2])
    );
    assert_eq!(
        read(&[("CUDNN_GUARD_DEVICES", "all")]).devices.selected(3),
        [0, 1, 2]
    );
}

/// GPU numbers start at 0, so a machine with two GPUs has no GPU 2.
#[test]
fn a_number_beyond_the_last_gpu_selects_nothing() {
    let listed = Devices::Listed(vec![0, 2]);
    assert_eq!(listed.selected(2), [0]);
    assert_eq!(listed.out_of_range(2), [2]);
    assert_eq!(Devices::Rank(1).selected(2), [1]);
    // The process of rank 0 tests it.
    assert_eq!(Devices::Rank(2).selected(2), [0_usize; 0]);
    assert!(Devices::Rank(2).shared_rank(2).is_some());
}

/// Borrowed data outlives the work on the large stack. Work that a deadline may leave behind borrows nothing.
#[test]
fn work_in_a_separate_thread_returns_its_output() {
    let done = Mutex::new(String::new());
    in_process::with_large_stack(&|| done.lock().unwrap().push_str("done"));
    assert_eq!(done.into_inner().unwrap(), "done");
    let word = "one".to_string();
    let work = move |sink: Sink| {
        sink(&word);
        sink("two");
    };
    let exit = in_process::in_thread(Duration::from_secs(60), work);
    assert_eq!(
        (exit.end, &*exit.answer),
        (ExitStatus::Itself, "one\ntwo\n")
    );
    let slow = |sink: Sink| {
        sink("one");
        std::thread::sleep(Duration::from_secs(2));
    };
    let exit = in_process::in_thread(Duration::from_millis(500), slow);
    assert_eq!((exit.end, &*exit.answer), (ExitStatus::Late, "one\n"));
}
