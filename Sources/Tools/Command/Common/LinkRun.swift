import CommandKit
import Glibc
import Holdfast
import LinkRuntime
import Synchronization

/// The run of a command that follows a link until a signal, a time limit or a final answer ends it.
struct LinkRun: Sendable {
  /// The app's lifecycle as signals report it: SIGUSR1 to the background, SIGUSR2 to the
  /// foreground, SIGHUP to refresh. Already started, so that no signal is missed.
  let lifecycle: any LifecycleMonitor
  private let stops: AsyncStream<Void>
  private let command: String

  /// The signals to declare for such a command.
  static let signals = [SIGHUP, SIGUSR1, SIGUSR2]

  /// The paragraph of a help text that describes them.
  ///
  /// - Parameters:
  ///   - refresh: the effect of SIGHUP.
  ///   - once: whether the command has --once.
  static func details(onHangup refresh: String, once: Bool = true) -> String {
    """
    SIGINT (Ctrl-C) and SIGTERM end it with status 0\(once ? ", or 1 before --once is done" : ""); \
    a second one ends it immediately. On the way out it exits with 1 if standard output stays \
    blocked for 2 s. SIGUSR1 moves it to the background and SIGUSR2 back to the foreground; SIGHUP \
    \(refresh).
    """
  }

  /// Begins to handle the signals; from here on none of them ends the process by itself.
  init(_ call: Invocation) {
    // Sleep of the machine is noticed by its effects if no login manager reports it.
    lifecycle = SharedLifecycle(Platform.lifecycle(hangup: true).changes())
    let (stops, stopping) = AsyncStream.makeStream(of: Void.self)
    self.stops = stops
    command = call.command
    let signals = CommandSignals {
      CommandSignals.abandon(call.command)
    } stopping: {
      CommandSignals.watchOutput(of: call.command)
      stopping.finish()
    }
    // Keeps the signals until the process ends, so that a second one always counts.
    Task { for await _ in signals.stream {} }
  }

  /// Runs `body`, and ends it as soon as a signal or the time limit asks for the end.
  ///
  /// The end of a terminal's input ends it too; the end of a pipe does not. The sender always ends
  /// before the link, so that endless input cannot delay the end.
  ///
  /// - Parameters:
  ///   - limit: how long to follow the link; `nil` for ever.
  ///   - late: called if the limit ends it.
  ///   - stopped: called if a signal ends it.
  ///   - sender: sends standard input to the link; cancelled at the end.
  ///   - drawing: updates the screen; cancelled at the end.
  ///   - close: closes the link, which makes `body` return. May be called several times.
  ///   - body: follows the link. Receives a group for its own tasks, which are cancelled when it
  ///     returns, and a function that ends the run.
  func follow<Ending: Sendable>(
    for limit: Duration? = nil, late: @escaping @Sendable () -> Void = {},
    stopped: @escaping @Sendable () -> Void = {}, sender: Task<Int, Never>? = nil,
    drawing: (@Sendable () async -> Void)? = nil,
    close: @escaping @Sendable () async -> Void,
    _ body: (inout TaskGroup<Void>, @escaping @Sendable () async -> Void) async -> Ending
  ) async -> Ending {
    let end: @Sendable () async -> Void = {
      sender?.cancel()
      _ = await sender?.value
      await close()
    }
    return await withTaskGroup(of: Void.self) { group in
      group.addTask {
        for await _ in stops {}
        if !Task.isCancelled { stopped() }
        await end()
      }
      if let limit {
        group.addTask {
          await wait(limit, late)
          await end()
        }
      }
      if let drawing { group.addTask { await drawing() } }
      if let sender, Invocation.isTyped {
        group.addTask {
          _ = await sender.value
          await end()
        }
      }
      let ending = await body(&group, end)
      await end()
      group.cancelAll()
      return ending
    }
  }

  /// Shows what a link reports until one of its updates ends the command, and then what comes while
  /// it is closed; returns `nil` if it was told to end.
  ///
  /// - Parameters:
  ///   - stopped: the failure to return if a signal ends it.
  ///   - input: sends standard input to the link; `nil` if that is not read.
  ///   - end: returns the end that an update means; `nil` to go on.
  func show<Updates: AsyncSequence & Sendable>(
    _ updates: Updates, in view: any LinkView<Updates.Element>,
    stopped: CommandFailure? = nil, input: InputSender?,
    close: @escaping @Sendable () async -> Void, until end: (Updates.Element) -> LinkEnding.End?
  ) async -> CommandFailure? where Updates.Element: ShownUpdate, Updates.Failure == Never {
    let sender = input.map { input in Task { await input.run(view, nil) } }
    let work = OnceWork(isDone: false)
    let failure = await follow(
      stopped: { work.end(.stopped) }, sender: sender, close: close
    ) { _, _ -> CommandFailure? in
      for await update in updates {
        await view.show(update)
        if let end = end(update) {
          work.end(.done)
          return end.failure
        }
      }
      return work.isStopped ? stopped : nil
    }
    for await update in updates { await view.show(update) }
    await view.end()
    return failure
  }

  private func wait(_ limit: Duration, _ late: @Sendable () -> Void) async {
    let clock = BootClock()
    guard (try? await clock.wait(until: clock.now.advanced(by: limit))) != nil else { return }
    CommandSignals.watchOutput(of: command)
    late()
  }
}

/// The first of three events: the end of what `--once` waits for, that of the time limit, or a
/// signal to end.
final class OnceWork: Sendable {
  enum End { case done, late, stopped }

  private let first: Mutex<End?>

  init(isDone: Bool) {
    first = Mutex(isDone ? .done : nil)
  }

  var isLate: Bool { first.withLock { $0 == .late } }

  var isStopped: Bool { first.withLock { $0 == .stopped } }

  func end(_ end: End) {
    first.withLock { $0 = $0 ?? end }
  }
}

extension Invocation {
  /// Returns the call of a command whose status 0 says that all is done, if it `promises` that: it
  /// ends with 1 if the reader of its output goes away before.
  func promising(_ promises: Bool) -> Invocation {
    var call = self
    if promises { call.console.endsWhenClosed = .failed }
    return call
  }
}
