/// The thread on which a network delivers the events of its sockets.
///
/// A task that runs there receives an event, and sends a message, without another thread.
package struct EventThread: Sendable {
  /// The executor of the thread.
  package let executor: any TaskExecutor
  /// The network, whose release ends the thread. Each task on the thread keeps it.
  package let owner: any AnyObject & Sendable

  package init(_ executor: any TaskExecutor, owner: any AnyObject & Sendable) {
    (self.executor, self.owner) = (executor, owner)
  }
}

/// A network that lets others use the thread on which it delivers events.
package protocol ThreadedNetwork: SocketDialer {
  var eventThread: EventThread { get }
}

extension SocketDialer {
  /// The thread on which the network delivers events; `nil` if others cannot use it.
  package var sharedThread: EventThread? { (self as? any ThreadedNetwork)?.eventThread }
}

extension Task where Failure == Never {
  /// Starts a task on a thread of a network, which it keeps; on the shared threads if it is `nil`.
  @discardableResult
  package init(on thread: EventThread?, _ work: @escaping @Sendable () async -> Success) {
    self.init(executorPreference: thread?.executor) {
      defer { withExtendedLifetime(thread) {} }
      return await work()
    }
  }
}
