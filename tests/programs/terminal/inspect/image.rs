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

    /// Creates an image with a cuDNN in `/opt/lib`, and a program that was built with 9.14 and is linked with it.
    pub fn with_cudnn(name: &str, minor: u32) -> Self {
        let image = Self::new(name);
        image.cudnn("opt/lib", minor);
        let flags = ["IMAGE/opt/lib/libcudnn.so.9", "-Wl,-rpath,/opt/lib"];
        image.program(&[&linked("9.14.0")], &flags);
        image
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
        let own = ["-shared", &soname];
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
        self.inspect_with(arguments, "")
    }

    pub fn inspect_with(&self, arguments: &[&str], library_path: &str) -> Ran {
        let mut command = self.command();
        command.env("LD_LIBRARY_PATH", library_path);
        run(command.args(arguments))
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

    /// Like [`inspect`](Self::inspect), but with the output in one line, since headlines are wrapped.
    pub fn flat(&self, arguments: &[&str]) -> Ran {
        one_line(self.inspect(arguments))
    }

    pub fn json(&self) -> Value {
        crate::support::schema::valid(&self.inspect(&["--json"]).stdout)
    }

    /// Returns the findings and the verdict, with the image as `/`, and without wrapping headlines, helps and evidence.
    pub fn findings(&self, ran: &Ran) -> String {
        let from = ran.stdout.find("\n\n").unwrap();
        let mut text = String::new();
        for line in ran.stdout[from + 2..].lines() {
            // Continuation lines of a headline, a help and an evidence line.
            let mut broken = [4, 14, 20].into_iter().filter_map(|indent| {
                let rest = line.strip_prefix(&" ".repeat(indent))?;
                (!rest.starts_with(' ')).then_some(rest)
            });
            match broken.next() {
                Some(rest) => {
                    text.pop();
                    // The length of the paths decides where a line is wrapped, and the id follows after two spaces.
                    let gap = if rest.starts_with('[') { "  " } else { " " };
                    text += &format!("{gap}{rest}\n");
                }
                None => text += &format!("{line}\n"),
            }
        }
        text.replace(self.0.to_str().unwrap(), "")
    }
}

/// Joins the words of the output with single spaces.
pub fn one_line(mut ran: Ran) -> Ran {
    let words: Vec<&str> = ran.stdout.split_whitespace().collect();
    ran.stdout = words.join(" ");
    ran
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
