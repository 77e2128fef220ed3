# SPDX-License-Identifier: BSD-3-Clause
dist_check_SCRIPTS += tests/unit/unit_test
# What threads share, and what all tests need: all that there is to test with ThreadSanitizer.
joinable_tests += \
  tests/unit/comm_all_or_none_test.cc \
  tests/unit/comm_context_facts_test.cc \
  tests/unit/comm_context_life_test.cc \
  tests/unit/comm_context_links_test.cc \
  tests/unit/comm_context_relinks_test.cc \
  tests/unit/comm_context_review_test.cc \
  tests/unit/comm_context_table_test.cc \
  tests/unit/comm_context_test.cc \
  tests/unit/comm_device_test.cc \
  tests/unit/comm_exchanges_test.cc \
  tests/unit/comm_memory_test.cc \
  tests/unit/comm_message_timing_test.cc \
  tests/unit/comm_peers_memory_test.cc \
  tests/unit/comm_peers_test.cc \
  tests/unit/comm_staging_test.cc \
  tests/unit/comm_stream_calls_test.cc \
  tests/unit/comm_vector_in_parts_test.cc \
  tests/unit/engine_counts_test.cc \
  tests/unit/engine_order_test.cc \
  tests/unit/engine_plan_test.cc \
  tests/unit/engine_scratch_test.cc \
  tests/unit/shm_board_test.cc \
  tests/unit/shm_channel_test.cc \
  tests/unit/shm_handover_test.cc \
  tests/unit/shm_model_test.cc \
  tests/unit/trace_timeline_test.cc \
  tests/unit/transport_message_test.cc \
  tests/unit/tune_trial_rows_test.cc \
  tests/unit/tune_look_test.cc \
  tests/unit/tune_trial_test.cc
unit_tests_SOURCES += \
  tests/unit/allocations.cc \
  tests/unit/allocations.h \
  tests/unit/context_calls.h \
  tests/unit/context_of_links.h \
  tests/unit/delaying_transport.h \
  tests/unit/device_calls.h \
  tests/unit/edited_text.h \
  tests/unit/hierarchies.h \
  tests/unit/interpreter.h \
  tests/unit/machines_bootstrap.h \
  tests/unit/main.cc \
  tests/unit/memory_model.h \
  tests/unit/messages.h \
  tests/unit/network_model.h \
  tests/unit/new_folder.h \
  tests/unit/peer_calls.h \
  tests/unit/probed_network.h \
  tests/unit/device_world.h tests/unit/plan_world.h tests/unit/ucx_world.h \
  tests/unit/programs.h \
  tests/unit/samples.h \
  tests/unit/share.h \
  tests/unit/sharing_driver.h \
  tests/unit/sim_machines.h \
  tests/unit/situations.h \
  tests/unit/thread_bootstrap.h \
  tests/unit/trial_run.h \
  tests/unit/vectors.h \
  tests/unit/verify_mutations.h \
  tests/unit/verify_shapes.h
if !SANITIZED_THREADS
joinable_tests += \
  tests/unit/base_activity_test.cc \
  tests/unit/base_address_space_test.cc \
  tests/unit/base_host_test.cc \
  tests/unit/base_module_test.cc \
  tests/unit/base_options_test.cc \
  tests/unit/base_private_folder_test.cc \
  tests/unit/base_written_file_test.cc \
  tests/unit/coll_algorithms_test.cc \
  tests/unit/coll_cost_test.cc \
  tests/unit/coll_interpreter_test.cc \
  tests/unit/coll_patterns_test.cc \
  tests/unit/coll_verified_test.cc \
  tests/unit/comm_known_links_test.cc \
  tests/unit/comm_link_flow_test.cc \
  tests/unit/comm_memory_rates_test.cc \
  tests/unit/comm_places_test.cc \
  tests/unit/device_bounce_test.cc \
  tests/unit/device_emulated_test.cc \
  tests/unit/engine_device_bits_test.cc tests/unit/engine_device_test.cc tests/unit/engine_flags_test.cc \
  tests/unit/engine_wait_test.cc tests/unit/engine_contention_test.cc \
  tests/unit/hier_bytes_test.cc \
  tests/unit/hier_composition_test.cc \
  tests/unit/hier_text_test.cc \
  tests/unit/kernel_cuda_test.cc \
  tests/unit/kernel_scalar_test.cc \
  tests/unit/sched_builder_test.cc \
  tests/unit/sched_schedule_test.cc \
  tests/unit/sim_cores_test.cc \
  tests/unit/sim_links_test.cc \
  tests/unit/sim_machine_test.cc \
  tests/unit/sim_refusals_test.cc \
  tests/unit/sim_schedules_test.cc \
  tests/unit/topo_device_place_test.cc \
  tests/unit/topo_hierarchy_test.cc \
  tests/unit/topo_link_pairs_test.cc \
  tests/unit/topo_local_facts_test.cc \
  tests/unit/topo_outliers_test.cc \
  tests/unit/topo_regular_test.cc \
  tests/unit/transport_buffer_pool_test.cc \
  tests/unit/transport_cards_test.cc \
  tests/unit/tune_board_test.cc tests/unit/tune_choice_test.cc \
  tests/unit/tune_growth_test.cc \
  tests/unit/tune_host_list_test.cc \
  tests/unit/tune_message_times_test.cc \
  tests/unit/tune_model_rates_test.cc \
  tests/unit/tune_probe_test.cc \
  tests/unit/tune_profile_cache_test.cc \
  tests/unit/tune_profile_hierarchy_test.cc \
  tests/unit/tune_profile_test.cc \
  tests/unit/tune_table_choice_test.cc \
  tests/unit/tune_table_test.cc \
  tests/unit/type_test.cc \
  tests/unit/verify_accepts_test.cc \
  tests/unit/verify_form_test.cc \
  tests/unit/verify_messages_test.cc \
  tests/unit/verify_mutations_test.cc \
  tests/unit/verify_races_test.cc \
  tests/unit/verify_results_test.cc \
  tests/unit/verify_window_test.cc
if HAVE_UCX
joinable_tests += tests/unit/transport_ucx_cards_test.cc tests/unit/transport_ucx_straight_test.cc \
  tests/unit/transport_ucx_test.cc
endif
if HAVE_HWLOC
joinable_tests += tests/unit/topo_hwloc_test.cc
endif
if HAVE_PUGIXML
joinable_tests += tests/unit/topo_drawing_test.cc
endif
if HAVE_HIGHWAY
joinable_tests += tests/unit/kernel_reduce_test.cc
endif
if HAVE_CLI11
if HAVE_JSON
joinable_tests += tests/unit/tools_sim_hwloc_test.cc tests/unit/tools_sim_profile_test.cc \
  tests/unit/tools_text_test.cc tests/unit/tools_tune_test.cc tests/unit/tools_values_test.cc
if HAVE_PUGIXML
joinable_tests += tests/unit/tools_links_test.cc tests/unit/tools_matrix_test.cc
endif
endif
endif
endif
if HAVE_CUDA
unit_tests_SOURCES += tests/unit/cuda_driver_test.h
joinable_tests += \
  tests/unit/device_cuda_failures_test.cc \
  tests/unit/device_cuda_mapped_test.cc \
  tests/unit/device_cuda_memory_test.cc \
  tests/unit/device_cuda_stream_test.cc \
  tests/unit/device_cuda_test.cc
check_PROGRAMS += tests/unit/libcuda.so.1 tests/unit/old/libcuda.so.1 tests/unit/without-words/libcuda.so.1 \
  tests/unit/libnvidia-ml.so.1
endif
# A libcuda without a GPU, one of a driver that is too old, and one of CUDA 11.0. They have the true one's name: it is
# what the module asks for.
fake_libcuda_flags = $(AM_LDFLAGS) -shared -Wl,-soname,libcuda.so.1
tests_unit_libcuda_so_1_SOURCES = \
  tests/unit/fake_libcuda.c tests/unit/fake_libcuda.h tests/unit/fake_libcuda_memory.c \
  tests/unit/fake_libcuda_state.h tests/unit/fake_libcuda_streams.c
tests_unit_libcuda_so_1_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_libcuda_so_1_CFLAGS = $(AM_CFLAGS) $(CUDA_WARNING_FLAGS)
tests_unit_libcuda_so_1_LDFLAGS = $(fake_libcuda_flags)
tests_unit_old_libcuda_so_1_SOURCES = $(tests_unit_libcuda_so_1_SOURCES)
tests_unit_old_libcuda_so_1_CPPFLAGS = $(tests_unit_libcuda_so_1_CPPFLAGS) -DFAKE_LIBCUDA_IS_OLD
tests_unit_old_libcuda_so_1_CFLAGS = $(tests_unit_libcuda_so_1_CFLAGS)
tests_unit_old_libcuda_so_1_LDFLAGS = $(fake_libcuda_flags)
tests_unit_without_words_libcuda_so_1_SOURCES = $(tests_unit_libcuda_so_1_SOURCES)
tests_unit_without_words_libcuda_so_1_CPPFLAGS = $(tests_unit_libcuda_so_1_CPPFLAGS) -DFAKE_LIBCUDA_WITHOUT_WORDS
tests_unit_without_words_libcuda_so_1_CFLAGS = $(tests_unit_libcuda_so_1_CFLAGS)
tests_unit_without_words_libcuda_so_1_LDFLAGS = $(fake_libcuda_flags)
tests_unit_libnvidia_ml_so_1_SOURCES = tests/unit/fake_libnvidia_ml.c
tests_unit_libnvidia_ml_so_1_CFLAGS = $(tests_unit_libcuda_so_1_CFLAGS)
tests_unit_libnvidia_ml_so_1_LDFLAGS = $(AM_LDFLAGS) -shared -Wl,-soname,libnvidia-ml.so.1
