import Foundation
import HoldfastPorts
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// A thread that waits on sockets and runs an actor's jobs between two waits.
///
/// The thread is the actor's executor, so no other thread uses the actor's sockets.
final class PollLoop: SerialExecutor {
  /// The sockets and the deadline that the owner waits for.
  struct Plan {
    var sockets: [(socket: Int32, events: Int16)]
    var deadline: ContinuousClock.Instant?
  }

  private struct State {
    var jobs: [UnownedJob] = []
    var thread: ObjectIdentifier?
  }

  private let state = Mutex(State())
  private let wakeReader: Int32
  private let wakeWriter: Int32

  init() throws(FaultProxyError) {
    var ends: [Int32] = [0, 0]
    guard unsafe pipe(&ends) == 0 else { throw TCP.failed("pipe") }
    for end in ends {
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
    }
    (wakeReader, wakeWriter) = (ends[0], ends[1])
  }

  deinit {
    close(wakeReader)
    close(wakeWriter)
  }

  /// Starts the thread.
  ///
  /// `turn` receives the ready sockets and returns the sockets and the deadline to wait for. If it
  /// returns `nil`, the thread ends.
  func start(_ turn: @escaping @Sendable ([Int32: Int16]) -> Plan?) {
    Thread.detachNewThread { self.run(turn) }
  }

  func wake() {
    var byte: UInt8 = 1
    // If the pipe is full, the thread wakes anyway.
    _ = unsafe write(wakeWriter, &byte, 1)
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    retained {
      state.withLock { $0.jobs.append(job) }
      wake()
    }
  }

  func checkIsolated() {
    precondition(isCurrent, "used from another thread than its own")
  }

  func isIsolatingCurrentContext() -> Bool? { isCurrent }

  private var isCurrent: Bool {
    state.withLock { $0.thread } == ObjectIdentifier(Thread.current)
  }

  private func run(_ turn: ([Int32: Int16]) -> Plan?) {
    state.withLock { $0.thread = ObjectIdentifier(Thread.current) }
    // Ready sockets are handled before any job runs, since a job may close a socket and open
    // another socket with the same number.
    while true {
      runJobs()
      guard let plan = turn([:]), turn(wait(for: plan)) != nil else { break }
    }
    runJobs()
  }

  private func runJobs() {
    let jobs = state.withLock { state in
      defer { state.jobs = [] }
      return state.jobs
    }
    for job in jobs { unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
  }

  private func wait(for plan: Plan) -> [Int32: Int16] {
    var polled = plan.sockets.map { pollfd(fd: $0.socket, events: $0.events, revents: 0) }
    polled.append(pollfd(fd: wakeReader, events: Int16(POLLIN), revents: 0))
    _ = unsafe poll(&polled, nfds_t(polled.count), Self.milliseconds(until: plan.deadline))
    var drain = [UInt8](repeating: 0, count: 256)
    while unsafe read(wakeReader, &drain, drain.count) > 0 {}
    let ready = polled.dropLast().filter { $0.revents != 0 }.map { ($0.fd, $0.revents) }
    return Dictionary(uniqueKeysWithValues: ready)
  }

  private static func milliseconds(until deadline: ContinuousClock.Instant?) -> Int32 {
    guard let deadline else { return -1 }
    let left = max(deadline - .now, .zero) / Duration.milliseconds(1)
    return Int32(min(left.rounded(.up), 60_000))
  }
}
