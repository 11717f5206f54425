# CPack runs this over the staged tree before it makes the package.
#  DEB  what Debian's policy asks of a tree: compressed manual pages and changelog, a copyright file.
#  TGZ  the libraries that another machine may not have.
set(here ${CMAKE_CURRENT_LIST_DIR})
file(GLOB bin_dirs ${CPACK_TEMPORARY_DIRECTORY}/usr/bin ${CPACK_TEMPORARY_DIRECTORY}/*/bin ${CPACK_TEMPORARY_DIRECTORY}/bin)
list(GET bin_dirs 0 bin_dir)
get_filename_component(prefix ${bin_dir} DIRECTORY)
if(CPACK_GENERATOR STREQUAL "DEB")
  set(script debian.sh)
elseif(CPACK_GENERATOR STREQUAL "TGZ")
  set(script bundle.sh)
else()
  return()
endif()
execute_process(COMMAND sh ${here}/${script} ${prefix} ${CPACK_PACKAGE_VERSION} ${CPACK_PACKAGE_CONTACT} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${script} failed")
endif()
