import LinkRuntime

/// Lets everyone through once it was opened.
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

/// Keeps what it is given.
actor Log {
  private(set) var events: [SocketEvent] = []

  var count: Int { events.count }

  func add(_ event: SocketEvent) {
    events.append(event)
  }
}
