# SPDX-License-Identifier: BSD-3-Clause
"""The shape of an emulated cluster, and the links, addresses and rates that make it, as lines for ip and tc.

    node0 eth0 -- nic0 \\                                  / nic2 -- eth0 node2
                        rack0 -- up0 | down0 -- core -- down1 | up1 -- rack1
    node1 eth0 -- nic1 /            (one for each rack)    \\ nic3 -- eth0 node3

Everything but the nodes' ends lives in the hub, which has an eth0 on `core` too, for the launcher, as fast as the
machine. Without racks all nodes hang on `core`. A rate is kept by a token
bucket (tbf) at both ends of a veth pair, because a bucket shapes only what leaves. No link has a route outwards.
"""
import re

NETWORK = "10.77.0.0/16"
PREFIX_BITS = 16
HUB_ADDRESS = "10.77.0.1"
BUCKET_BYTES = 256 * 1024
QUEUE = "100ms"
MAX_NODES = 200
RATE_UNITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}


def parse_rate(text):
    """Bits per second of '500mbit', '2.5gbit', ...; None for 'none', which leaves the link as fast as the machine."""
    if text == "none":
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(bit|kbit|mbit|gbit)", text.lower())
    if not match or float(match.group(1)) <= 0:
        raise ValueError("rate '%s' is neither 'none' nor a number with bit, kbit, mbit or gbit" % text)
    return int(float(match.group(1)) * RATE_UNITS[match.group(2)])


class Shape:
    """What a cluster is asked to be; plain data, so that it can be kept as JSON."""

    def __init__(self, nodes, nics, racks=1, uplink=None, interleave=False, shm_size=None, sysctls=(), private=()):
        if not 1 <= nodes <= MAX_NODES:
            raise ValueError("%d nodes: 1 to %d can be emulated" % (nodes, MAX_NODES))
        if not 1 <= racks <= nodes:
            raise ValueError("%d racks for %d nodes: 1 to %d are possible" % (racks, nodes, nodes))
        if len(nics) not in (1, nodes):
            raise ValueError("%d NIC rates for %d nodes: give one, or one for each node" % (len(nics), nodes))
        self.nodes, self.racks, self.interleave = nodes, racks, interleave
        self.nics = list(nics) * nodes if len(nics) == 1 else list(nics)
        self.uplink = uplink
        self.shm_size = shm_size
        self.sysctls, self.private = list(sysctls), list(private)
        for rate in self.nics + [self.uplink or "none"]:
            parse_rate(rate)

    def name(self, node):
        return "node%d" % node

    def rack(self, node):
        return node % self.racks if self.interleave else node * self.racks // self.nodes

    def address(self, node):
        return "10.77.%d.%d" % (self.rack(node) + 1, node + 1)

    def hosts_file(self):
        lines = ["127.0.0.1 localhost", HUB_ADDRESS + " hub"]
        lines += ["%s %s" % (self.address(node), self.name(node)) for node in range(self.nodes)]
        return "\n".join(lines) + "\n"


def _bucket(interface, rate):
    bits = parse_rate(rate)
    if bits is None:
        return []
    return ["qdisc add dev %s root tbf rate %dbit burst %d latency %s" % (interface, bits, BUCKET_BYTES, QUEUE)]


def _bridge(name):
    return ["link add name %s type bridge forward_delay 0 mcast_snooping 0" % name, "link set %s up" % name]


def hub_commands(shape, node_pids):
    """(lines for ip, lines for tc) that are run in the hub; the nodes' ends go to the namespaces of node_pids."""
    ip = ["link set lo up"] + _bridge("core") + ["link add name hub type veth peer name eth0"]
    ip += ["link set hub master core up", "addr add %s/%d dev eth0" % (HUB_ADDRESS, PREFIX_BITS), "link set eth0 up"]
    tc = []
    for rack in range(shape.racks if shape.racks > 1 else 0):
        up, down = "up%d" % rack, "down%d" % rack
        ip += _bridge("rack%d" % rack) + ["link add name %s type veth peer name %s" % (up, down)]
        ip += ["link set %s master rack%d up" % (up, rack), "link set %s master core up" % down]
        tc += _bucket(up, shape.uplink or "none") + _bucket(down, shape.uplink or "none")
    for node, pid in enumerate(node_pids):
        bridge = "rack%d" % shape.rack(node) if shape.racks > 1 else "core"
        ip.append("link add name nic%d type veth peer name eth0 netns %d" % (node, pid))
        ip.append("link set nic%d master %s up" % (node, bridge))
        tc += _bucket("nic%d" % node, shape.nics[node])
    return ip, tc


def node_commands(shape, node):
    """(lines for ip, lines for tc) that are run in a node once its eth0 has arrived."""
    ip = ["link set lo up", "addr add %s/%d dev eth0" % (shape.address(node), PREFIX_BITS), "link set eth0 up"]
    return ip, _bucket("eth0", shape.nics[node])


def traffic(shape, net_folder):
    """Bytes that crossed each NIC and uplink so far, by the counters of the hub's ends in /sys/class/net."""

    def counter(interface, name):
        with open("%s/%s/statistics/%s" % (net_folder, interface, name)) as file:
            return int(file.read())

    report = {}
    for node in range(shape.nodes):
        nic = "nic%d" % node
        report[shape.name(node)] = {"sent": counter(nic, "rx_bytes"), "received": counter(nic, "tx_bytes")}
    for rack in range(shape.racks if shape.racks > 1 else 0):
        up = "up%d" % rack
        report["rack%d" % rack] = {"sent": counter(up, "tx_bytes"), "received": counter(up, "rx_bytes")}
    return report


def traffic_between(before, after):
    """What was added between two reports of traffic()."""
    return {link: {way: after[link][way] - before[link][way] for way in after[link]} for link in after}
