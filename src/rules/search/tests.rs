//! The order of the places, by example.

use super::*;

fn list(
    pairs: &[(&str, &str)],
    script: &[(&str, &str)],
    triple: &str,
    root: Option<&str>,
) -> String {
    let own = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect()
    };
    let env = Env::new(
        own(pairs)
            .into_iter()
            .map(|(name, value)| (name, value.into())),
    )
    .overlaid(&own(script));
    let lines = steps(&env, &Platform::from_triple(triple), root.map(Path::new))
        .into_iter()
        .map(|step| {
            let strict = if step.wish.is_some() { "!" } else { "" };
            format!(
                "{:?}{strict} {}: {}",
                step.kind,
                step.via,
                step.whereabouts()
            )
        });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_bare_machine() {
    assert_eq!(
        list(
            &[("HOME", "/home/me"), ("PATH", "/bin:relative")],
            &[],
            "x86_64-unknown-linux-gnu",
            Some("/image")
        ),
        "Toolkit nvcc on PATH: 1 directory of PATH\n\
         Toolkit NVIDIA's usual directory: /image/usr/local/cuda\n\
         Cudnn NVIDIA's usual directory: /image/usr/local/cuda\n\
         Toolkit NVIDIA's versioned directories: /image/usr/local/cuda-*\n\
         Cudnn NVIDIA's versioned directories: /image/usr/local/cuda-*\n\
         Toolkit system directories: /image/usr\n\
         Cudnn system directories: /image/usr\n\
         Toolkit fetched by cudnn-guard: /image/home/me/.local/share/cudnn-guard/nvidia/cu*\n\
         Toolkit fetched by cudnn-guard: /image/home/me/.local/share/cudnn-guard/nvidia\n\
         Cudnn fetched by cudnn-guard: /image/home/me/.local/share/cudnn-guard/nvidia/cudnn"
    );
}

#[test]
fn build_script_then_wishes_then_surroundings() {
    let text = list(
        &[
            ("CUDNN_LIB_DIR", "/l"),
            ("CUDNN_INCLUDE_DIR", "/i"),
            ("CUDNN_PATH", "/dnn"),
            ("CUDA_PATH", "/cuda"),
            ("NVCC", "ccache /opt/bin/nvcc"),
            ("CUDNN_GUARD_HOME", "/guard"),
            ("VIRTUAL_ENV", "/venv"),
            ("CONDA_PREFIX", "/conda"),
            ("CUDA_HOME", ""),
        ],
        &[("CUDA_ROOT", "/script")],
        "aarch64-apple-darwin",
        None,
    );
    assert_eq!(
        text,
        "Toolkit! CUDA_ROOT in build.rs: /script\n\
         Toolkit! CUDA_PATH: /cuda\n\
         Toolkit! NVCC: 1 directory of PATH\n\
         Cudnn! CUDNN_PATH: /dnn\n\
         Cudnn! CUDNN_INCLUDE_DIR and CUDNN_LIB_DIR: /i\n\
         Toolkit! CUDNN_GUARD_HOME: /guard/nvidia/cu*\n\
         Toolkit! CUDNN_GUARD_HOME: /guard/nvidia\n\
         Cudnn! CUDNN_GUARD_HOME: /guard/nvidia/cudnn\n\
         Cudnn CUDA_PATH: /cuda\n\
         Cudnn CUDA_ROOT in build.rs: /script\n\
         Toolkit active virtual environment: /venv/lib/python*/site-packages/nvidia/cu*\n\
         Toolkit active virtual environment: /venv/lib/python*/site-packages/nvidia\n\
         Cudnn active virtual environment: /venv/lib/python*/site-packages/nvidia/cudnn\n\
         Toolkit active conda environment: /conda\n\
         Cudnn active conda environment: /conda"
    );
}
