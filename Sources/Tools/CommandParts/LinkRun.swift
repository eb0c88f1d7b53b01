import Glibc
import Holdfast
package import HoldfastCommandKit
import HoldfastLinuxDevice
package import HoldfastPorts
import Synchronization

/// A run of a command that follows a link. It ends after a signal, at a time limit or with a final
/// update.
package struct LinkRun: Sendable {
  /// The monitor of the app's lifecycle, which is controlled by signals.
  ///
  /// SIGUSR1 moves the app to the background, SIGUSR2 moves it to the foreground, and SIGHUP
  /// refreshes. The monitor has already been started, so that no signal is missed.
  package let lifecycle: any LifecycleMonitor
  private let stops: AsyncStream<Void>
  private let command: String

  /// The signals that a command that follows a link must declare.
  package static let signals = [SIGHUP, SIGUSR1, SIGUSR2]

  /// Returns the paragraph that describes the signals in help texts.
  ///
  /// - Parameters:
  ///   - refresh: A description of the effect of SIGHUP.
  ///   - once: Whether the command has the option `--once`.
  package static func details(onHangup refresh: String, once: Bool = true) -> String {
    """
    SIGINT (Ctrl-C) and SIGTERM end it with status 0\(once ? ", or 1 before --once is done" : ""); \
    a second one ends it immediately. On the way out it exits with 1 if standard output stays \
    blocked for 2 s. SIGUSR1 moves it to the background and SIGUSR2 back to the foreground; SIGHUP \
    \(refresh).
    """
  }

  /// Creates a run and begins to handle the signals. From now on, the signals no longer end the
  /// process.
  package init(_ call: Invocation) {
    // If no login manager reports sleep, the monitor detects the sleep of the machine by its
    // effects.
    lifecycle = SharedLifecycle(HoldfastPlatform.lifecycle(hangup: true).changes())
    let (stops, stopping) = AsyncStream.makeStream(of: Void.self)
    self.stops = stops
    command = call.command
    let signals = CommandSignals {
      CommandSignals.abandon(call.command)
    } stopping: {
      CommandSignals.watchOutput(of: call.command)
      stopping.finish()
    }
    // The signals are handled until the process ends, so that a second stop request is always
    // recognized.
    Task { for await _ in signals.stream {} }
  }

  /// Runs `body` until it returns, a signal arrives, or the time limit expires.
  ///
  /// The end of input also ends the run if standard input is a terminal, but not if it is a pipe.
  /// The sender always ends before the link, so that endless input cannot delay the end.
  ///
  /// - Parameters:
  ///   - limit: The maximum duration of the run; `nil` for no limit.
  ///   - late: A function that is called if the time limit ends the run.
  ///   - stopped: A function that is called if a signal ends the run.
  ///   - sender: A task that sends standard input to the link. It is cancelled at the end.
  ///   - drawing: A function that updates the screen. It is cancelled at the end.
  ///   - close: A function that closes the link, which makes `body` return. It may be called
  ///     several times.
  ///   - body: A function that follows the link. It receives a group for its own tasks, which are
  ///     cancelled when it returns, and a function that ends the run.
  package func follow<Ending: Sendable>(
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

  /// Shows the updates of a link until one of them ends the command. The updates that arrive while
  /// the link closes are then also shown.
  ///
  /// - Parameters:
  ///   - stopped: The failure to return if a signal ends the run.
  ///   - input: The sender of standard input; `nil` if standard input is not read.
  ///   - end: A function that returns the end that an update causes, or `nil` if the command
  ///     continues.
  /// - Returns: The failure of the command; `nil` if there is none.
  package func show<Updates: AsyncSequence & Sendable>(
    _ updates: Updates, in view: any LinkView<Updates.Element>,
    stopped: CommandFailure? = nil, input: InputSender?,
    close: @escaping @Sendable () async -> Void, until end: (Updates.Element) -> LinkEnding.End?
  ) async -> CommandFailure? where Updates.Element: ShownUpdate, Updates.Failure == Never {
    let sender = input.map { input in Task { await input.run(view) } }
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

/// A record of which event comes first: the work of `--once` is done, the time limit expires, or a
/// signal requests the end.
package final class OnceWork: Sendable {
  package enum End { case done, late, stopped }

  private let first: Mutex<End?>

  package init(isDone: Bool) {
    first = Mutex(isDone ? .done : nil)
  }

  package var isLate: Bool { first.withLock { $0 == .late } }

  package var isStopped: Bool { first.withLock { $0 == .stopped } }

  package func end(_ end: End) {
    first.withLock { $0 = $0 ?? end }
  }
}

extension Invocation {
  /// Returns a copy of the call. If `promises` is true, the copy exits with 1 when the reader
  /// closes the output early.
  ///
  /// This copy is for commands whose exit status 0 means that all work is done.
  package func promising(_ promises: Bool) -> Invocation {
    var call = self
    if promises { call.console.endsWhenClosed = .failed }
    return call
  }
}
