//! Which cuDNN the system's loader takes, why it takes that one, and what it says where it takes none.

pub mod cudarc_eager;
pub mod dlerror_messages;
pub mod ld_so_cache;
pub mod library_names;
pub mod load_origin;
pub mod locate;
pub mod map_failures;
pub mod misplaced;
pub mod search_path;
