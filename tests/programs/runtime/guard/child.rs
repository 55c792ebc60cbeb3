//! Outcomes of the child process that tests cuDNN, in complete runs.

use super::program::{GPU, command, run, startup};
use crate::support::installation::{compile, sound};
use crate::support::wrapped;

/// For example a server whose clients use up its open files: then the state is unknown, whether or not cuDNN is loaded.
#[test]
fn a_process_without_free_file_descriptors_does_not_report_a_broken_cudnn() {
    let cudnn = sound();
    let loaded = cudnn.file("libcudnn.so.9").display().to_string();
    for task in ["check", "version"] {
        for open in ["", &loaded] {
            for few in 3..10 {
                let files = few.to_string();
                let variables = [GPU, ("TEST_OPEN", open), ("TEST_FILES", &files)];
                let ran = run(task, &cudnn.0, &variables);
                if few > 5 {
                    assert_eq!(ran.json["verdict"], "pass", "{few}: {}", ran.text);
                    continue;
                }
                ran.must_be("unknown", &["io-error"]);
                assert!(
                    ran.text.starts_with(
                        "this process has reached its limit on open files, so cuDNN could not be checked  [io-error]\n  \
                         = help: raise the limit: `ulimit -n 4096`\n  \
                         reason      Too many open files (os error 24)\n"
                    ),
                    "{}",
                    ran.text
                );
            }
        }
    }
}

/// If opening a library fails for lack of memory or threads, that proves nothing about cuDNN.
#[test]
fn a_library_opened_without_memory_or_threads_proves_nothing() {
    let cudnn = sound();
    let opened = |words: &str| {
        let code = format!(
            "const unsigned char cudnn_ops_infer_version[4] = {{ 0, 14, 9, 0 }};
             long write(int, const void *, unsigned long); void abort(void);
             __attribute__((constructor)) static void start(void) {{ write(2, \"{words}\", {}); abort(); }}",
            words.len()
        );
        compile(&code, &cudnn.file("libcudnn_ops.so.9"), &[]);
        let ran = startup(&cudnn, &[GPU]);
        let first = ran.stderr.lines().take(2).collect::<Vec<_>>().join("\n");
        (
            ran.code,
            first.replace(&cudnn.0.display().to_string(), "TREE"),
        )
    };
    let memory = "cudnn-guard: unknown: the test process ran out of memory while opening TREE/libcudnn_ops.so.9  [child-not-started]
  = help: raise the memory limit (`ulimit -v`), or check with `free -m` whether memory is left";
    let threads = "cudnn-guard: unknown: the test process could not start a thread while opening TREE/libcudnn_ops.so.9  [child-not-started]
  = help: raise the limit on processes and threads: `ulimit -u`, or the container's pids limit";
    for (words, expected) in [
        (
            "terminate called after throwing an instance of 'std::bad_alloc'",
            memory,
        ),
        ("  what():  Resource temporarily unavailable", threads),
        (
            "OpenBLAS blas_thread_init: pthread_create failed for thread 3 of 64",
            threads,
        ),
    ] {
        assert_eq!(opened(words), (Some(0), expected.to_string()));
    }
    let other = opened("the library has another reason");
    assert_eq!(other.0, Some(78), "{}", other.1);
}

/// A fork would take the pages away from the device that writes into them.
#[test]
#[ignore = "needs the right to mount"]
fn a_process_with_memory_registered_with_an_rdma_device_is_not_forked() {
    let cudnn = sound();
    let library = cudnn.file("libibverbs.so.1");
    let script = "mount -t tmpfs none /dev && mkdir /dev/infiniband && : >/dev/null && \
                  : >/dev/infiniband/uverbs0 && exec \"$@\" 9</dev/infiniband/\"$OPENED\"";
    let started = |opened: &str, variables: &[(&str, &str)]| {
        let program = command("startup", &cudnn.0);
        let words = ["unshare", "-rm", "sh", "-c", script, "sh"];
        let mut shell = wrapped(&words, &program);
        shell.env("OPENED", opened);
        shell
            .env("TEST_OPEN", &library)
            .env(GPU.0, GPU.1)
            .envs(variables.iter().copied());
        let output = shell.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        stderr
    };
    let refused = "\
cudnn-guard: unknown: cannot create a child process to test cuDNN safely  [child-not-started]
  = help: call `startup()` before MPI, NCCL or UCX starts, as the first line of `main`
";
    let device = "uverbs0";
    let with_status = |status: u32| {
        let code = format!("int ibv_is_fork_initialized(void) {{ return {status}; }}");
        compile(&code, &library, &[]);
        started(device, &[])
    };
    let stderr = with_status(0);
    assert!(stderr.starts_with(refused), "{stderr}");
    // libibverbs may be loaded without being used.
    assert_eq!(started("../null", &[]), "");
    for allowed in [1, 2] {
        assert_eq!(with_status(allowed), "");
    }
    // An old libibverbs does not report its fork status.
    compile("int ibv_fork_init(void) { return 0; }", &library, &[]);
    let stderr = started(device, &[]);
    assert!(stderr.starts_with(refused), "{stderr}");
    assert_eq!(started(device, &[("RDMAV_FORK_SAFE", "1")]), "");
}
