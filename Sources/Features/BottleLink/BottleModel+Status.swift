public import LinkCore
import LinkWire

// The one projection of the inner state that anybody sees.
extension BottleModel {
  var observed: BottleStatus {
    var status = BottleStatus()
    status.phase = phase
    status.outstanding = outstanding
    status.reason = link.status.reason
    status.adapter = adapter
    status.retryAt = link.status.retryAt
    return status
  }

  private var phase: BottleStatus.Phase {
    if let connection { return connection.isReady ? .connected : .discovering }
    if let burst { return burst.found == nil ? .scanning : .connecting }
    return .disconnected
  }

  /// Everything that leads to a next step without the user.
  private var outstanding: [BottleStatus.Outstanding] {
    guard link.isWanted else { return [] }
    var all: [BottleStatus.Outstanding] = []
    if let connection { all += connection.isReady ? [.connection] : [.discovery, .connection] }
    if let burst { all.append(burst.found == nil ? .scan : .connect) }
    if queue != nil { all.append(bottle == nil ? .queuedScan : .queuedConnect) }
    if adapter != .on { all.append(.adapter) }
    if link.deadline != nil, connection == nil, burst == nil { all.append(.timer) }
    return all
  }

  /// Whether the system holds something for the app: a suspended app has no timers.
  public var isKeptBySystem: Bool {
    shown.outstanding.contains { $0 != .timer }
  }
}

// What always holds between the parts of a bottle's link.
extension BottleModel {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      !link.isWanted || link.status.phase == .failed || !observed.outstanding.isEmpty,
      "bottle link: something is outstanding while it is wanted")
    check.require(
      connection == nil || connection?.attempt == link.currentAttempt,
      "bottle link: the connection belongs to the present attempt")
    check.require(
      burst == nil || burst?.attempt == link.currentAttempt,
      "bottle link: the burst belongs to the present attempt")
    check.require(
      connection == nil || burst == nil, "bottle link: nothing is looked for while connected")
    check.require(
      !sync.isRunning || connection?.isReady == true,
      "bottle link: drinks are fetched only while connected")
    check.require(
      isConnected == (link.status.phase == .connected),
      "bottle link: connected means that all services were discovered")
    check.require(
      requests.entries.count <= Requests.limit, "bottle link: requests are bounded")
    check.require(holds >= 0, "bottle link: holds are counted")
    if check.isThorough {
      check.require(shown == observed, "bottle link: the user is shown the present state")
    }
    link.check(&check)
    sync.check(&check)
  }
}
