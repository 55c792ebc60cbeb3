//! The terminal program.

fn main() -> std::process::ExitCode {
    cudnn_guard::cli::main()
}
