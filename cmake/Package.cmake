# What find_package(kscc) finds in an installed tree, and the packages: `cpack -G DEB` and `cpack -G TGZ` in the build folder.
#
# The .deb uses the distribution's libraries; its dependencies are read out of the programs (dpkg-shlibdeps).  The tarball is for any
# folder of any machine whose C and C++ libraries are at least this one's: copies of the other libraries go along (cmake/package/bundle.sh).

include(CMakePackageConfigHelpers)
set(KSCC_CMAKE_DIR lib/cmake/kscc)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/package/kscc-config.cmake.in ${CMAKE_BINARY_DIR}/package/kscc-config.cmake
  INSTALL_DESTINATION ${KSCC_CMAKE_DIR} PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/kscc-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/kscc-config.cmake ${CMAKE_BINARY_DIR}/package/kscc-config-version.cmake
  ${CMAKE_SOURCE_DIR}/cmake/package/KsccCUDA.cmake DESTINATION ${KSCC_CMAKE_DIR})

if(DEFINED ENV{DEBEMAIL} AND DEFINED ENV{DEBFULLNAME}) # as Debian's own tools have it
  set(packager "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
else()
  set(packager "kscc <root@localhost>")
endif()
set(KSCC_PACKAGE_MAINTAINER "${packager}" CACHE STRING "who answers for the .deb: NAME <ADDRESS>")
set(CPACK_PACKAGE_NAME kscc)
set(CPACK_PACKAGE_VENDOR kscc)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "drop-in for nvcc that makes CUDA kernels faster and proves it")
set(CPACK_PACKAGE_DESCRIPTION "kscc compiles CUDA as nvcc does.  With -O-agent it finds what holds each kernel
back, lets an agent rewrite it, and emits the result only when an independent
harness has found it correct, safe and faster, on a GPU or on an emulated
device.  The object holds the original too.  A CUDA toolkit of version 12.8 or
later is needed, and not part of this package.")
set(CPACK_PACKAGE_CONTACT ${KSCC_PACKAGE_MAINTAINER})
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGE_FILE_NAME kscc-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/package/stage.cmake)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${KSCC_PACKAGE_MAINTAINER})
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# the emulated runtime and a libclang that bootstrap brought are this package's own
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib/emulated)
# objcopy and ld -r; libclang's own headers
set(CPACK_DEBIAN_PACKAGE_DEPENDS binutils)
if(KSCC_LIBCLANG_GOES_ALONG)
  list(APPEND CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${KSCC_LIBCLANG_GOES_ALONG})
else()
  string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libclang-common-22-dev")
endif()
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "cuda-toolkit-13-0 | cuda-toolkit (>= 12.8) | nvidia-cuda-toolkit (>= 12.8), g++, patch")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "openssh-client, cmake")
include(CPack)
