import CommandKit
import Glibc
import Holdfast
import LinkRuntime
import Synchronization

/// The run of a command that follows a link until a signal, a time limit or a final answer ends it.
struct LinkRun: Sendable {
  /// The app's lifecycle, controlled by signals.
  ///
  /// SIGUSR1 moves the app to the background, SIGUSR2 to the foreground, and SIGHUP refreshes. The
  /// monitor has already started, so that no signal is missed.
  let lifecycle: any LifecycleMonitor
  private let stops: AsyncStream<Void>
  private let command: String

  /// The signals to declare for a command that follows a link.
  static let signals = [SIGHUP, SIGUSR1, SIGUSR2]

  /// Returns the paragraph that describes the signals in help texts.
  ///
  /// - Parameters:
  ///   - refresh: The effect of SIGHUP.
  ///   - once: Whether the command has --once.
  static func details(onHangup refresh: String, once: Bool = true) -> String {
    """
    SIGINT (Ctrl-C) and SIGTERM end it with status 0\(once ? ", or 1 before --once is done" : ""); \
    a second one ends it immediately. On the way out it exits with 1 if standard output stays \
    blocked for 2 s. SIGUSR1 moves it to the background and SIGUSR2 back to the foreground; SIGHUP \
    \(refresh).
    """
  }

  /// Begins to handle the signals; from now on none of them ends the process by itself.
  init(_ call: Invocation) {
    // Without a login manager that reports sleep, the sleep of the machine is detected by its
    // effects.
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
    // Handles the signals until the process ends, so that a second one always counts.
    Task { for await _ in signals.stream {} }
  }

  /// Runs `body`, and ends it after a signal or at the time limit.
  ///
  /// The end of a terminal's input ends it too, but the end of a pipe does not. The sender always
  /// ends before the link, so that endless input cannot delay the end.
  ///
  /// - Parameters:
  ///   - limit: The time for which to follow the link; `nil` for no limit.
  ///   - late: Called if the limit ends the run.
  ///   - stopped: Called if a signal ends the run.
  ///   - sender: Sends standard input to the link; cancelled at the end.
  ///   - drawing: Updates the screen; cancelled at the end.
  ///   - close: Closes the link, which makes `body` return. May be called several times.
  ///   - body: Follows the link. Receives a group for its own tasks, which are cancelled when it
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

  /// Shows the updates of a link until one of them ends the command, and then those that arrive
  /// while the link closes.
  ///
  /// - Parameters:
  ///   - stopped: The failure to return if a signal ends the run.
  ///   - input: Sends standard input to the link; `nil` if it is not read.
  ///   - end: Returns the end that an update causes; `nil` to continue.
  /// - Returns: The failure of the command; `nil` if there is none.
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

/// The first of three events: the work of `--once` is done, the time limit expires, or a signal
/// asks for the end.
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
  /// Returns a copy of the call that exits with 1 if the reader closes the output early and
  /// `promises` is true.
  ///
  /// Commands whose status 0 means that everything is done use this copy.
  func promising(_ promises: Bool) -> Invocation {
    var call = self
    if promises { call.console.endsWhenClosed = .failed }
    return call
  }
}
