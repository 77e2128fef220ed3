# SPDX-License-Identifier: BSD-3-Clause
joinable_sources += \
  src/sim/event_queue.h \
  src/sim/machine.cc src/sim/machine.h \
  src/sim/machine_line.cc \
  src/sim/servers.cc src/sim/servers.h \
  src/sim/simulation.cc src/sim/simulation.h \
  src/sim/simulation_messages.cc \
  src/sim/simulator.cc src/sim/simulator.h \
  src/sim/workload.cc src/sim/workload.h
