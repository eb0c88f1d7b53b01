import HoldfastPorts

/// A gate that suspends callers of `wait` until it is opened.
actor Gate {
  private var isOpen = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func open() {
    isOpen = true
    for continuation in waiting { continuation.resume() }
    waiting = []
  }

  func wait() async {
    guard !isOpen else { return }
    await withCheckedContinuation { waiting.append($0) }
  }
}

/// A log of socket events.
actor Log {
  private(set) var events: [SocketEvent] = []

  var count: Int { events.count }

  func add(_ event: SocketEvent) {
    events.append(event)
  }
}
