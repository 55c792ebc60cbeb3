//! The things that a report has a line for, and which of them a finding is about.

use crate::runtime::facts::finding_id::FindingId;

/// The thing that a finding is about.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum ReportSection {
    Toolkit,
    Nvcc,
    HostCompiler,
    Cudnn,
    Parts,
    Driver,
    Gpus,
    Targets,
    /// It has a line of its own.
    Itself,
}

pub(super) fn thing(id: FindingId) -> ReportSection {
    match id {
        FindingId::CudaNotFound | FindingId::CudaRequirementUnmet | FindingId::PartialToolkit => {
            ReportSection::Toolkit
        }
        FindingId::NvccNotFound | FindingId::NvccHeaderSkew | FindingId::NvccFailed => {
            ReportSection::Nvcc
        }
        FindingId::HostCompilerUnsupported | FindingId::HostHeadersIncompatible => {
            ReportSection::HostCompiler
        }
        FindingId::CudnnNotFound
        | FindingId::CudnnRequirementUnmet
        | FindingId::CudnnHeadersMissing
        | FindingId::CudaFlavourMismatch
        | FindingId::HeaderLibrarySkew
        | FindingId::KnownBadRelease => ReportSection::Cudnn,
        FindingId::PartsMissing
        | FindingId::PartsMixed
        | FindingId::LibraryDamaged
        | FindingId::WrongArchitecture
        | FindingId::CudnnNotLoadable => ReportSection::Parts,
        FindingId::DriverMissing
        | FindingId::DriverStub
        | FindingId::DriverTooOld
        | FindingId::DriverError => ReportSection::Driver,
        FindingId::NoGpu | FindingId::GpuNewerThanCudnn => ReportSection::Gpus,
        FindingId::ArchUnknown
        | FindingId::ArchUnsupportedByNvcc
        | FindingId::ArchDroppedByCudnn
        | FindingId::GpuNewerThanNvcc => ReportSection::Targets,
        _ => ReportSection::Itself,
    }
}

/// Whether nothing is looked for where this was noticed.
pub(super) fn forbids_search(id: FindingId) -> bool {
    matches!(
        id,
        FindingId::PlatformUnsupported | FindingId::ConfigInvalid
    )
}

/// Whether only a search tells this.
pub(super) fn is_search_result(id: FindingId) -> bool {
    matches!(id, FindingId::CudaNotFound | FindingId::CudnnNotFound)
}
