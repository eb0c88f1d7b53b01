package import HoldfastCore

/// The thread on which a network delivers the events of its sockets, or a serial queue that takes
/// its place.
///
/// The driver and the effect handler of a link are isolated to it, as the network is. So an event
/// reaches the machine, and a message the socket, without another job.
package struct EventThread: Sendable {
  private let home: ThreadHome

  /// Creates a thread.
  ///
  /// - Parameters:
  ///   - executor: The executor of the thread.
  ///   - owner: The object whose release ends the thread. Each task and each actor on the thread
  ///     keeps it.
  package init(_ executor: any SerialExecutor, owner: (any AnyObject & Sendable)? = nil) {
    home = ThreadHome(executor, owner)
  }

  /// The executor of an actor that is isolated to the thread. The actor must keep the thread.
  package var unownedExecutor: UnownedSerialExecutor { unsafe home.unownedExecutor }

  /// Starts a task that is isolated to the thread, and keeps it. Only the thread calls this method.
  ///
  /// A preference of the task for the executor would not do: each call of an actor on the thread
  /// would be another job (decision 0073).
  package func start(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    home.assumeIsolated { home in
      Task {
        // A task is isolated to the actor that it captures.
        _ = home
        await work()
      }
    }
  }
}

/// The actor to which the tasks on a thread are isolated.
private actor ThreadHome {
  private nonisolated let executor: any SerialExecutor
  private nonisolated let owner: (any AnyObject & Sendable)?

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  init(_ executor: any SerialExecutor, _ owner: (any AnyObject & Sendable)?) {
    (self.executor, self.owner) = (executor, owner)
  }
}

/// A network that lets others use the thread on which it delivers events.
package protocol ThreadedNetwork: SocketDialer {
  /// The thread.
  var eventThread: EventThread { get }
  /// The counts of the thread so far.
  var threadCounters: ThreadCounters { get }
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
