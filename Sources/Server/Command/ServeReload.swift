import HoldfastBackend
import HoldfastCommandKit

/// The options of a running backend, which SIGHUP reads again.
struct ServeReload: Sendable {
  /// A change that a running backend makes for some options.
  private struct Change: Sendable {
    let options: [String]
    let apply: @Sendable (Backend, BackendConfiguration) async -> Void

    init(
      _ options: String..., apply: @escaping @Sendable (Backend, BackendConfiguration) async -> Void
    ) {
      (self.options, self.apply) = (options, apply)
    }
  }

  /// The changes that need no restart.
  private static let changes = [
    // The usual level depends on the format.
    Change("log-format", "log-level") { $0.changeLog(to: $1.logFormat, $1.logLevel) },
    Change("drain-window") { await $0.changeDrainWindow(to: $1.drainWindow) },
  ]

  /// The paragraph of the help text.
  static let details = """
    SIGHUP also reads variables and the file of --config again. A change of \
    \(changes.flatMap(\.options).joined(separator: ", ")) takes effect (event "reload"); the log \
    names the other options that have changed, which need a restart (event "restart_needed"). If \
    anything is invalid, no option changes.
    """

  /// The arguments with which the backend runs.
  private var running: Arguments

  /// Creates the options of a backend that was started with `arguments`.
  init(running arguments: Arguments) {
    running = arguments
  }

  /// Reads variables and files again, and checks all options. If they are valid, the backend takes
  /// what it can, and logs the names of the other options that have changed.
  mutating func reload(_ backend: Backend, _ call: Invocation) async {
    let next: Invocation
    let configuration: BackendConfiguration
    do throws(CommandFailure) {
      next = try call.reread()
      configuration = try Self.configuration(next)
    } catch {
      return backend.noteInvalidOptions(error.line)
    }
    let changed = next.arguments.changedOptions(since: running)
    for change in Self.changes where !Set(change.options).isDisjoint(with: changed) {
      await change.apply(backend, configuration)
      running.adopt(change.options, of: next.arguments)
    }
    let waiting = next.arguments.changedOptions(since: running)
    backend.noteOptions(
      changed: changed.filter { !waiting.contains($0) }, needingRestart: waiting)
  }

  private static func configuration(
    _ call: Invocation
  ) throws(CommandFailure) -> BackendConfiguration {
    do throws(CommandFailure) {
      _ = try PushOptions.read(call)
      return try ServeCommand.configuration(call)
    } catch {
      throw call.located(error)
    }
  }
}
