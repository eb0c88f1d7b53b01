"""Counts the traffic of a network device: capture.py DEVICE PORT...

For each line of standard input, prints a line that contains for each port, in order: the number of packets,
the number of bytes of IP, and the number of bytes carried by TCP. Needs root.
"""

import select
import socket
import struct
import sys

ETH_P_IP = 0x0800
ETH_P_ALL = 0x0003


def count(packet: bytes, counts: dict) -> None:
    if packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
        return
    length = struct.unpack_from("!H", packet, 2)[0]
    start = (packet[0] & 15) * 4
    source, target = struct.unpack_from("!HH", packet, start)
    carried = length - start - (packet[start + 12] >> 4) * 4
    for port in {source, target} & counts.keys():
        for place, value in enumerate((1, length, carried)):
            counts[port][place] += value


def main(device: str, ports: list[int]) -> None:
    counts = {port: [0, 0, 0] for port in ports}
    # Outgoing packets are only delivered to sockets that receive all protocols.
    seen = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
    seen.bind((device, ETH_P_ALL))
    print("ready", flush=True)
    while True:
        ready = select.select([seen, sys.stdin], [], [])[0]
        if seen in ready:
            packet, (_, protocol, *_) = seen.recvfrom(65536)
            if protocol == ETH_P_IP:
                count(packet, counts)
        elif sys.stdin.readline():
            print(*(value for port in ports for value in counts[port]), flush=True)
        else:
            return


main(sys.argv[1], [int(port) for port in sys.argv[2:]])
