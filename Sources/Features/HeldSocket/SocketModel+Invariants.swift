public import LinkCore

// What always holds between the parts of a held socket.
extension SocketModel {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      queue.handed == 0 || isConnected, "held socket: messages are handed over only while connected"
    )
    check.require(
      asked == nil || (isConnected && settings.hasPing),
      "held socket: the app's own ping is asked only while connected")
    check.require(
      stopsAt == nil || !queue.entries.isEmpty, "held socket: a stop waits only for messages")
    check.require(sent >= UInt64(queue.handed), "held socket: what was handed over was counted")
    if check.isThorough {
      check.require(
        shown.status == link.status, "held socket: the app is shown the present state")
    }
    link.check(&check)
    queue.check(&check)
  }
}
