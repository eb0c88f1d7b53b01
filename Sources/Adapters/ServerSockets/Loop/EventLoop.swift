import CHoldfastLinux
import Glibc
import HoldfastCore
import Synchronization

/// A thread that runs the jobs of an actor, those of tasks that prefer `tasks` and, between jobs, a
/// driver function.
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

  /// A descriptor that becomes readable when a job is waiting.
  var wakeDescriptor: Int32 { mailbox.descriptor }

  /// Empties `wakeDescriptor`, which a wait has reported. Only the thread calls this method.
  func drainWake() {
    mailbox.drain()
  }

  /// Sets the function to call between jobs. If it is `nil`, the thread sleeps until the next job.
  func drive(with driver: (@Sendable () -> Void)?) {
    mailbox.drive(with: driver)
  }

  /// Ends the driver's wait.
  func wake() {
    mailbox.wake()
  }

  /// The counts of the thread so far.
  var counters: ThreadCounters { mailbox.counters }

  func enqueue(_ job: consuming ExecutorJob) {
    mailbox.post(Mailbox.Letter(job: UnownedJob(job), receiver: .actor(self)))
  }

  /// The executor for tasks without an actor that run on the thread.
  ///
  /// It is an object of its own. If the loop were the executor of actor and task in one, each call
  /// within the actor by a task without this preference would be another job.
  var tasks: any TaskExecutor { LoopTasks(mailbox: mailbox, loop: self) }

  func checkIsolated() {
    precondition(mailbox.isCurrentThread, "not on the loop's thread")
  }

  func isIsolatingCurrentContext() -> Bool? {
    mailbox.isCurrentThread
  }
}

/// An executor of tasks on the thread of a loop. It keeps the loop.
private final class LoopTasks: TaskExecutor {
  private let mailbox: Mailbox
  private let loop: EventLoop

  init(mailbox: Mailbox, loop: EventLoop) {
    (self.mailbox, self.loop) = (mailbox, loop)
  }

  func enqueue(_ job: consuming ExecutorJob) {
    mailbox.post(Mailbox.Letter(job: UnownedJob(job), receiver: .task(self)))
  }
}

/// The state that the thread shares with callers that enqueue jobs.
private final class Mailbox: Sendable {
  /// A job and its executor. The executor must exist until the job has run.
  struct Letter {
    let job: UnownedJob
    let receiver: Receiver

    func run() {
      switch receiver {
      case .actor(let loop): unsafe job.runSynchronously(on: loop.asUnownedSerialExecutor())
      case .task(let tasks): unsafe job.runSynchronously(on: tasks.asUnownedTaskExecutor())
      }
    }
  }

  /// The executor that queued a job.
  enum Receiver {
    case actor(EventLoop)
    case task(LoopTasks)
  }

  private struct State {
    var letters: [Letter] = []
    var driver: (@Sendable () -> Void)?
    var isSignalled = false
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

  /// Applies a change. Only the first change since the thread last read the state writes to the
  /// descriptor, unless the thread runs jobs and reads the state again before it waits.
  private func signal(_ change: (inout State) -> Void) {
    let isFirst = state.withLock { state in
      change(&state)
      defer { state.isSignalled = true }
      if !state.isSignalled { state.counters.wakes += 1 }
      return !state.isSignalled
    }
    if isFirst { eventfd_write(descriptor, 1) }
  }

  /// The main function of the thread.
  func run() {
    owner.store(UInt(pthread_self()), ordering: .relaxed)
    blockSignals()
    var rounds = 0
    while let (letters, driver) = next(after: rounds) {
      for letter in letters { letter.run() }
      rounds = letters.isEmpty || rounds == Self.mostRounds ? 0 : rounds + 1
      guard rounds == 0 else { continue }
      if let driver {
        driver()
      } else if letters.isEmpty {
        sleep()
      }
    }
  }

  /// The maximum number of times that jobs queue further jobs before the driver has its turn.
  private static let mostRounds = 32

  /// Takes the waiting jobs. `nil` means that the thread ends.
  private func next(after rounds: Int) -> ([Letter], driver: (@Sendable () -> Void)?)? {
    state.withLock { state in
      if state.isFinished { return nil }
      defer { state.letters = [] }
      state.isSignalled = !state.letters.isEmpty && rounds < Self.mostRounds
      return (state.letters, state.driver)
    }
  }

  private func sleep() {
    var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    unsafe poll(&wanted, 1, -1)
    drain()
  }

  /// Empties the descriptor. The thread takes the waiting jobs afterwards, so none is overlooked.
  func drain() {
    var count = eventfd_t()
    unsafe eventfd_read(descriptor, &count)
  }

  private func blockSignals() {
    var all = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
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
