import CHoldfastLinux
import Glibc
import HoldfastCore
import HoldfastPorts
import Synchronization

/// A thread that runs the jobs of an actor and, between jobs, a driver function.
///
/// The driver blocks in a wait of its own. When a job arrives, a write to `wakeDescriptor` ends the
/// wait.
final class EventLoop: SerialExecutor {
  private let mailbox: Mailbox

  /// Starts the thread. It blocks all signals, so that a write to a closed peer does not raise
  /// SIGPIPE.
  init() throws(SocketServerError) {
    mailbox = try Mailbox()
    let context = unsafe Unmanaged.passRetained(mailbox)
    var thread = pthread_t()
    let failure = unsafe pthread_create(
      &thread, nil,
      { context in
        guard let context = unsafe context else { return nil }
        unsafe Unmanaged<Mailbox>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, context.toOpaque())
    guard failure == 0 else {
      unsafe context.release()
      throw .system(call: "pthread_create", errno: failure)
    }
    pthread_detach(thread)
  }

  deinit {
    mailbox.finish()
  }

  /// A descriptor that becomes readable when another thread adds to the mailbox.
  var wakeDescriptor: Int32 { mailbox.descriptor }

  /// Whether the mailbox has changed since the thread last read it.
  ///
  /// The driver checks this before it waits, because changes by the thread itself do not end the
  /// wait.
  var hasNews: Bool { mailbox.hasNews }

  /// Sets the function to call between jobs. If it is `nil`, the thread sleeps until the next job.
  func drive(with driver: (@Sendable () -> Void)?) {
    mailbox.drive(with: driver)
  }

  /// Ends the driver's wait.
  func wake() {
    mailbox.wake()
  }

  /// Empties `wakeDescriptor`. The driver calls this method when it is readable.
  func drainWake() {
    mailbox.drain()
  }

  /// The counts of the thread so far.
  var counters: ThreadCounters { mailbox.counters }

  func enqueue(_ job: consuming ExecutorJob) {
    let letter = Mailbox.Letter(job: UnownedJob(job), loop: self)
    retained { mailbox.post(letter) }
  }

  func checkIsolated() {
    precondition(mailbox.isCurrentThread, "not on the loop's thread")
  }

  func isIsolatingCurrentContext() -> Bool? {
    mailbox.isCurrentThread
  }
}

/// The state that the thread shares with callers that enqueue jobs.
private final class Mailbox: Sendable {
  /// A job and its executor. The executor must exist until the job has run.
  struct Letter {
    let job: UnownedJob
    let loop: EventLoop
  }

  private struct State {
    var letters: [Letter] = []
    var driver: (@Sendable () -> Void)?
    /// Whether the state has changed since the thread last read it.
    var hasNews = false
    var isFinished = false
    var counters = ThreadCounters()
  }

  let descriptor: Int32
  private let state = Mutex(State())
  private let owner = Atomic<UInt>(0)

  init() throws(SocketServerError) {
    descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    guard descriptor >= 0 else { throw .system(call: "eventfd", errno: errno) }
  }

  deinit {
    close(descriptor)
  }

  var isCurrentThread: Bool {
    owner.load(ordering: .relaxed) == UInt(pthread_self())
  }

  func post(_ letter: Letter) {
    signal {
      $0.letters.append(letter)
      $0.counters.jobs += 1
    }
  }

  var counters: ThreadCounters { state.withLock(\.counters) }

  func drive(with driver: (@Sendable () -> Void)?) {
    signal { $0.driver = driver }
  }

  func finish() {
    signal { $0.isFinished = true }
  }

  func wake() {
    signal { _ in }
  }

  var hasNews: Bool { state.withLock(\.hasNews) }

  /// Applies a change. Only the first change since the thread last read the state writes to the
  /// descriptor, unless the thread itself makes it.
  private func signal(_ change: (inout State) -> Void) {
    let isElsewhere = !isCurrentThread
    let mustWrite = state.withLock { state in
      change(&state)
      let mustWrite = !state.hasNews && isElsewhere
      state.hasNews = true
      if mustWrite { state.counters.wakes += 1 }
      return mustWrite
    }
    if mustWrite { eventfd_write(descriptor, 1) }
  }

  /// Empties the descriptor. Any remaining count causes one more turn.
  func drain() {
    var count = eventfd_t()
    unsafe eventfd_read(descriptor, &count)
  }

  /// The main function of the thread.
  func run() {
    owner.store(UInt(pthread_self()), ordering: .relaxed)
    blockSignals()
    while let (letters, driver) = next() {
      for letter in letters {
        unsafe letter.job.runSynchronously(on: letter.loop.asUnownedSerialExecutor())
      }
      if let driver {
        driver()
      } else if letters.isEmpty {
        sleep()
      }
    }
  }

  /// Takes the waiting jobs.
  private func next() -> ([Letter], driver: (@Sendable () -> Void)?)? {
    state.withLock { state in
      state.hasNews = false
      if state.isFinished { return nil }
      defer { state.letters = [] }
      return (state.letters, state.driver)
    }
  }

  private func sleep() {
    var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    unsafe poll(&wanted, 1, -1)
    drain()
  }

  private func blockSignals() {
    var all = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
  }
}

/// The actor to which tasks on a loop are isolated.
actor LoopHome {
  nonisolated let loop: EventLoop

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe loop.asUnownedSerialExecutor()
  }

  init(_ loop: EventLoop) {
    self.loop = loop
  }

  /// Runs work until it first waits. The work continues on the loop, between two turns.
  func start(_ work: @escaping @Sendable () async -> Void) {
    Task.immediate {
      // A task is isolated to the actor that it captures.
      _ = self
      await work()
    }
  }
}

/// The clock for deadlines.
enum Clock {
  /// The current time. It also advances while the device sleeps, and never jumps.
  static var now: Instant {
    var time = timespec()
    unsafe clock_gettime(CLOCK_BOOTTIME, &time)
    return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }
}
