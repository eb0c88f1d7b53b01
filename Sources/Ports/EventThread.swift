package import HoldfastCore

/// The thread on which a network delivers the events of its sockets, or a serial queue that takes
/// its place.
///
/// The driver and the effect handler of a link are isolated to it, as the network is. So an event
/// reaches the machine, and a message the socket, without another job.
package struct EventThread: Sendable {
  /// The executor of the thread.
  package let executor: any SerialExecutor & TaskExecutor
  /// The object whose release ends the thread. Each task and each actor on the thread keeps it.
  private let owner: (any AnyObject & Sendable)?

  /// Creates a thread.
  package init(
    _ executor: any SerialExecutor & TaskExecutor, owner: (any AnyObject & Sendable)? = nil
  ) {
    (self.executor, self.owner) = (executor, owner)
  }

  /// The executor of an actor that is isolated to the thread. The actor must keep the thread.
  package var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
}

/// A network that lets others use the thread on which it delivers events.
package protocol ThreadedNetwork: SocketDialer {
  /// The thread.
  var eventThread: EventThread { get }
  /// The counts of the thread so far.
  var threadCounters: ThreadCounters { get }
}

extension Task where Failure == Never {
  /// Starts a task on a thread, which it keeps; on the shared threads if it is `nil`.
  @discardableResult
  package init(on thread: EventThread?, _ work: @escaping @Sendable () async -> Success) {
    self.init(executorPreference: thread?.executor) {
      defer { withExtendedLifetime(thread) {} }
      return await work()
    }
  }
}

extension EventThread {
  /// Returns a new serial queue in the place of a thread. `label` is its name in a debugger.
  package static func queue(_ label: String) -> EventThread {
    EventThread(QueueExecutor(label: label))
  }
}

extension SocketDialer {
  /// The thread on which the network delivers events, or a new queue if others cannot use it.
  package func eventThread(or label: String) -> EventThread {
    (self as? any ThreadedNetwork)?.eventThread ?? .queue(label)
  }
}
