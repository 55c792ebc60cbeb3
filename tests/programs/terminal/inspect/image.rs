//! A system image with a program, and the output of `cudnn-guard inspect` for it.

use crate::support::{Ran, fresh, run, scratch};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// A system image with a program. Its files are never run.
pub struct Image(pub PathBuf);

pub const PARTS: [&str; 6] = [
    "graph",
    "ops",
    "cnn",
    "heuristic",
    "engines_precompiled",
    "engines_runtime_compiled",
];

impl Image {
    pub fn new(name: &str) -> Self {
        Self(fresh(&format!("inspect-{name}")))
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// Compiles C code into a file of the image.
    pub fn compile(&self, path: &str, code: &str, flags: &[&str]) {
        let into = self.at(path);
        fs::create_dir_all(into.parent().unwrap()).unwrap();
        let source = into.with_extension("c");
        fs::write(&source, code).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-nostdlib", "-nostartfiles", "-fPIC", "-O1", "-o"]);
        cc.arg(&into).arg(&source);
        cc.args(
            flags
                .iter()
                .map(|flag| flag.replace("IMAGE", self.0.to_str().unwrap())),
        );
        assert!(cc.status().unwrap().success(), "{cc:?}");
        fs::remove_file(source).unwrap();
    }

    pub fn library(&self, path: &str, code: &str, flags: &[&str]) {
        let name = path.rsplit('/').next().unwrap();
        let soname = format!("-Wl,-soname,{name}");
        let own = ["-shared", "-Wl,--no-as-needed", &soname];
        self.compile(path, code, &[&own[..], flags].concat());
    }

    /// Creates a cuDNN 9 for CUDA 13 in this directory. Its files contain their version and do nothing.
    pub fn cudnn(&self, folder: &str, minor: u32) {
        let into = self.at(folder);
        fs::create_dir_all(&into).unwrap();
        // Copied, so that a test can change its files.
        for file in fs::read_dir(made(minor)).unwrap() {
            let file = file.unwrap().path();
            fs::copy(&file, into.join(file.file_name().unwrap())).unwrap();
        }
    }

    fn compile_cudnn(&self, minor: u32) {
        self.library(
            "libcudnn.so.9",
            "int cudnnGetVersion(void) { return 0; }",
            &["-Wl,--enable-new-dtags,-rpath,$ORIGIN"],
        );
        for part in PARTS {
            let code = match part {
                "graph" => format!(
                    "const unsigned char cudnn_graph_version[4] = {{ 0, {minor}, 9, 0 }};\n\
                     const char *cublas(void) {{ return \"libcublasLt.so.13\"; }}"
                ),
                _ => "int nothing;".into(),
            };
            let gnu = "-Wl,--hash-style=gnu";
            self.library(&format!("libcudnn_{part}.so.9"), &code, &[gnu]);
        }
    }

    /// Compiles the program `/app/app`, with these records, linked with these libraries.
    pub fn program(&self, records: &[&str], flags: &[&str]) {
        let mut code = String::from("void _start(void) {}\n");
        for (index, text) in records.iter().enumerate() {
            let bytes: Vec<String> = record(text).iter().map(ToString::to_string).collect();
            code += &format!(
                "__attribute__((section(\".cdnngrd\"), used)) static const unsigned char record{index}[] = {{ {} }};\n",
                bytes.join(", ")
            );
        }
        let own = ["-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined"];
        self.compile("app/app", &code, &[&own[..], flags].concat());
    }

    pub fn inspect(&self, arguments: &[&str]) -> Ran {
        run(self.command().args(arguments))
    }

    /// Returns the command that inspects the program in this image, without variables.
    pub fn command(&self) -> Command {
        let mut command = self.here();
        command.arg("--root").arg(&self.0);
        command
    }

    /// Returns the command that inspects the program on this machine, without variables.
    pub fn here(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        command.arg("inspect").arg(self.at("app/app")).env_clear();
        command
    }
}

/// Returns the directory of a cuDNN that is compiled once for all images.
fn made(minor: u32) -> PathBuf {
    static MADE: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let into = scratch(&format!("inspect-cudnn-9.{minor}"));
    if !made.contains(&minor) {
        Image(fresh(&format!("inspect-cudnn-9.{minor}"))).compile_cudnn(minor);
        made.push(minor);
    }
    into
}

/// Returns the record of a guard with this text.
pub fn record(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap().to_le_bytes();
    [b"cdnngrd\x01", &length[..], text.as_bytes()].concat()
}

pub fn linked(cudnn: &str) -> String {
    format!(
        "guard 0.1.0\ncrate app 0.1.0\ncudnn {cudnn}\ncudnn-cuda 13\ncuda 13.0\npolicy compatible\nloader linked\n"
    )
}

pub fn ids(json: &Value) -> Vec<&str> {
    let findings = json["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| finding["id"].as_str().unwrap())
        .collect()
}

/// Creates a file that is linked with the libraries of the real provider for CUDA 12, which are not in the image.
pub fn built_for_12(image: &Image, file: &str) {
    let needed = ["libcublasLt.so.12", "libcudart.so.12", "libcudnn.so.9"];
    for name in needed {
        image.library(&format!("tmp/{name}"), "int nothing;", &[]);
    }
    let paths = needed.map(|name| format!("IMAGE/tmp/{name}"));
    let mut flags = vec!["-Wl,--no-as-needed"];
    flags.extend(paths.iter().map(String::as_str));
    image.library(file, "int nothing;", &flags);
    fs::remove_dir_all(image.at("tmp")).unwrap();
}

/// Creates a toolkit with this version in its header. A toolkit for CUDA 12 also contains the provider's libraries.
pub fn toolkit(image: &Image, dir: &str, version: u32) {
    let header = image.at(dir).join("include/cuda.h");
    fs::create_dir_all(header.parent().unwrap()).unwrap();
    fs::write(&header, format!("#define CUDA_VERSION {version}\n")).unwrap();
    let major = version / 1000;
    for name in ["libcublasLt", "libcudart"] {
        image.library(
            &format!("{dir}/lib64/{name}.so.{major}"),
            "int nothing;",
            &[],
        );
    }
}
