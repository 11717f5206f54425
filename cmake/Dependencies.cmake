# Third-party libraries, each found once here and linked only where its header is allowed to occur.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(FFI REQUIRED IMPORTED_TARGET libffi)
pkg_check_modules(CAPSTONE REQUIRED IMPORTED_TARGET capstone)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(XML REQUIRED IMPORTED_TARGET libxml-2.0)
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl)

find_path(TOMLPLUSPLUS_INCLUDE toml++/toml.h REQUIRED) # headers alone

# libclang 22: Debian's folder, or KSCC_LIBCLANG_ROOT (a folder with include/ and lib/) where bootstrap put it.
set(KSCC_LIBCLANG_ROOT "" CACHE PATH "prefix of libclang 22")
find_path(LIBCLANG_INCLUDE clang-c/Index.h HINTS ${KSCC_LIBCLANG_ROOT}/include /usr/lib/llvm-22/include NO_DEFAULT_PATH REQUIRED)
find_library(LIBCLANG_LIBRARY NAMES clang-22 clang NAMES_PER_DIR HINTS ${KSCC_LIBCLANG_ROOT}/lib /usr/lib/llvm-22/lib NO_DEFAULT_PATH REQUIRED)
add_library(kscc_libclang INTERFACE)
target_include_directories(kscc_libclang SYSTEM INTERFACE ${LIBCLANG_INCLUDE})
target_link_libraries(kscc_libclang INTERFACE ${LIBCLANG_LIBRARY})

# CUDA toolkit: only its headers and nvcc; nothing of ours links NVIDIA's runtime.
set(KSCC_CUDA_ROOT "" CACHE PATH "CUDA toolkit root; empty: found through nvcc on PATH, then /usr/local/cuda")
if(NOT KSCC_CUDA_ROOT)
  find_program(KSCC_NVCC nvcc HINTS /usr/local/cuda/bin)
  if(KSCC_NVCC)
    get_filename_component(kscc_nvcc_dir ${KSCC_NVCC} DIRECTORY)
    get_filename_component(KSCC_CUDA_ROOT_FOUND ${kscc_nvcc_dir} DIRECTORY)
    set(KSCC_CUDA_ROOT ${KSCC_CUDA_ROOT_FOUND} CACHE PATH "" FORCE)
  endif()
endif()
option(KSCC_WERROR "warnings are errors" OFF)
