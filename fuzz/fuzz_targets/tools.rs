//! Headers, the output of nvcc and host compilers, and the driver's version.

#![no_main]

use cudnn_guard::fuzzing::directive::Directive;
use cudnn_guard::fuzzing::{
    Host, Product, diagnostics, host_compiler, nvcc_output, parse_depfile, version_file,
    version_header,
};
use cudnn_guard::internals::driver::driver_release;
use cudnn_guard_fuzz::expect_directive;
use libfuzzer_sys::fuzz_target;
use std::path::{Path, PathBuf};

/// The maximum length: each byte takes a microsecond per pattern.
const LONGEST: usize = 1 << 17;

fuzz_target!(|bytes: &[u8]| {
    let bytes = bytes.get(..LONGEST).unwrap_or(bytes);
    let text = &*String::from_utf8_lossy(bytes);
    let _ = (version_header::cuda(text), version_header::cudnn(text));
    for name in version_header::included(text) {
        assert!(
            name.contains("cudnn") && !name.contains(['"', '\n']),
            "{name:?}"
        );
    }
    let _ = (version_file::json(text), version_file::text(text));

    let mut files: Vec<PathBuf> = parse_depfile(text);
    assert!(files.iter().all(|file| !file.as_os_str().is_empty()));
    let layout = nvcc_output::parse_layout(text).unwrap_or_default();
    files.extend(layout.include_dirs);
    files.extend(layout.link_dirs);
    let _ = nvcc_output::parse_version(text);
    let mut codes = vec![nvcc_output::parse_gpu_codes(text)];
    codes.extend(nvcc_output::parse_help(text));
    for codes in codes {
        assert!(codes.is_sorted_by(|one, next| one < next), "{codes:?}");
    }

    let headers = host_compiler::headers(text);
    assert!(headers.is_sorted_by(|one, next| one < next), "{headers:?}");
    files.extend(headers);
    if let Some(compiler) = host_compiler::parse_answer(text) {
        let _ = (compiler.number(), compiler.named());
    }
    if let Some((program, path)) = host_compiler::parse_command(text) {
        let limits = host_compiler::limits::parse_host_config(text);
        let _ = host_compiler::alternative_names(Path::new(&program), &limits);
        files.extend(path.map(PathBuf::from));
    }
    for file in files {
        expect_directive(&Directive::RerunIfChanged(file.clone()));
        expect_directive(&Directive::LinkSearch(file));
    }

    let _ = driver_release::parse_release(text);
    let _ = driver_release::release_in_name(text);

    let host = Host::capture(Some("x86_64-unknown-linux-gnu"), None, &[]);
    let nvcc = Path::new("/cuda/bin/nvcc");
    let plan = host_compiler::query::plan(&host, None, nvcc, Product::Object, Vec::new());
    let failure = plan.as_ref().ok().map(|plan| diagnostics::Failure {
        output: text,
        plan,
        others: &[],
    });
    if let Some(help) = failure.and_then(|failure| failure.cause().help()) {
        assert!(!help.contains('\n'), "{help:?}");
    }
});
