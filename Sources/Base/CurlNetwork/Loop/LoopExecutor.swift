import HoldfastCore
import HoldfastPorts
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// An executor that runs actors on one thread. The thread sleeps while there is no work.
final class LoopExecutor: SerialExecutor {
  private struct Inbox {
    var jobs: [UnownedJob] = []
    var isStopping = false
    /// Whether the inbox has changed since the thread last read it. Only the first change of a
    /// burst writes to the pipe.
    var hasNews = false
    var counters = ThreadCounters()
  }

  private let inbox = Mutex(Inbox())
  private let thread = Atomic<UInt>(0)
  /// The descriptor that becomes readable when another thread adds to the inbox.
  let wakeReader: Int32
  private let wakeWriter: Int32

  /// Creates an executor; `nil` if the process cannot open more descriptors.
  init?() {
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { return nil }
    for end in ends {
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
    }
    (wakeReader, wakeWriter) = (ends[0], ends[1])
  }

  deinit {
    _ = close(wakeReader)
    _ = close(wakeWriter)
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    retained {
      signal {
        $0.jobs.append(job)
        $0.counters.jobs += 1
      }
    }
  }

  /// The counts of the thread so far.
  var counters: ThreadCounters { inbox.withLock(\.counters) }

  /// Ends the thread once the actor has no work in progress.
  func stop() {
    signal { $0.isStopping = true }
  }

  func isIsolatingCurrentContext() -> Bool? {
    thread.load(ordering: .acquiring) == Self.currentThread
  }

  func checkIsolated() {
    precondition(isIsolatingCurrentContext() == true, "called outside the loop's thread")
  }

  private func signal(_ change: (inout sending Inbox) -> Void) {
    let isElsewhere = isIsolatingCurrentContext() != true
    let mustWrite = inbox.withLock { inbox in
      change(&inbox)
      let mustWrite = !inbox.hasNews && isElsewhere
      inbox.hasNews = true
      if mustWrite { inbox.counters.wakes += 1 }
      return mustWrite
    }
    guard mustWrite else { return }
    var byte: UInt8 = 1
    _ = unsafe write(wakeWriter, &byte, 1)
  }
}

extension LoopExecutor {
  /// Starts the thread that runs a loop's jobs and turns. Returns whether the thread was started.
  func start(_ loop: NetworkLoop) -> Bool {
    let passenger = unsafe Unmanaged.passRetained(loop)
    #if canImport(Darwin)
      var thread: pthread_t?
    #else
      var thread: pthread_t = 0
    #endif
    let result = unsafe pthread_create(
      &thread, nil,
      { argument in
        #if canImport(Darwin)
          let loop = unsafe Unmanaged<NetworkLoop>.fromOpaque(argument).takeRetainedValue()
        #else
          // This cannot happen: `start` passes the loop.
          guard let argument = unsafe argument else { preconditionFailure("no loop to run") }
          let loop = unsafe Unmanaged<NetworkLoop>.fromOpaque(argument).takeRetainedValue()
        #endif
        loop.executor.run(loop)
        return nil
      }, passenger.toOpaque())
    guard result == 0 else {
      unsafe passenger.release()
      return false
    }
    pthread_detach(thread)
    return true
  }

  /// The maximum number of times that jobs queue further jobs before the sockets have their turn.
  private static let mostRounds = 32

  private func run(_ loop: NetworkLoop) {
    thread.store(Self.currentThread, ordering: .releasing)
    var jobs: [UnownedJob] = []
    while true {
      let isStopping = runJobs(&jobs)
      if isStopping, !hasNews, loop.assumeIsolated({ $0.isIdle }) { break }
      loop.assumeIsolated { $0.turn() }
    }
    loop.assumeIsolated { $0.release() }
  }

  /// Runs the queued jobs, and those that they queue. Returns whether the thread should end.
  ///
  /// - Parameter jobs: An empty array, whose storage is used.
  private func runJobs(_ jobs: inout [UnownedJob]) -> Bool {
    var isStopping = false
    for _ in 0..<Self.mostRounds {
      isStopping = takeNews(&jobs)
      if jobs.isEmpty { break }
      for job in jobs { unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
      jobs.removeAll(keepingCapacity: true)
    }
    return isStopping
  }

  /// Takes the queued jobs. Returns whether the thread should end.
  private func takeNews(_ jobs: inout [UnownedJob]) -> Bool {
    inbox.withLock { inbox in
      inbox.hasNews = false
      swap(&inbox.jobs, &jobs)
      return inbox.isStopping
    }
  }

  /// Whether the inbox changed after the jobs were taken. This is the last check before the thread
  /// sleeps.
  var hasNews: Bool {
    inbox.withLock { $0.hasNews }
  }

  /// Empties the wake-up pipe. Any remaining bytes cause one more turn.
  func drainWake() {
    var bytes: UInt64 = 0
    _ = unsafe read(wakeReader, &bytes, MemoryLayout<UInt64>.size)
  }

  private static var currentThread: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }
}
