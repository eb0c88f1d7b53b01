import HoldfastChildProcesses
import HoldfastTestKit

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A receiver of the news of an app that runs in a separate process.
protocol AppWatcher: Sendable {
  func launched(_ app: App) async
  func receive(_ line: AppLine?, from app: App) async
  func ended(_ app: App, _ ending: AppEnding) async
}

/// The end of a run of an app.
struct AppEnding: Sendable, Equatable, CustomStringConvertible {
  /// The exit status, or the signal that ended the process.
  var cause: ChildProcess.Ending
  /// The last diagnostic of the process; empty if there was none.
  var diagnostic = ""

  /// Whether a signal ended the process, so that the app could not record its end.
  var isKilled: Bool {
    switch cause {
    case .exited: false
    case .signalled: true
    }
  }

  /// The exit status or the signal, and the diagnostic.
  var description: String {
    let number =
      switch cause {
      case .exited(let status): "status \(status)"
      case .signalled(let signal): "signal \(signal)"
      }
    return diagnostic.isEmpty ? number : "\(number): \(diagnostic)"
  }
}

/// An app on the phone or a device near the phone, run in a separate process.
///
/// The process can be killed and launched again with the same data. It ends with this process, even
/// if that one is killed.
actor Phone {
  private let app: App
  private let arguments: [String]
  private let watcher: any AppWatcher
  private let environment: [String: String]
  private var process: LabProcess?
  /// Whether a signal has stopped the process.
  private var isStopped = false
  private var listening: Task<Void, Never>?

  /// Creates an app. `arguments` is the command line that launches it, and `environment` is added to
  /// the variables of every app.
  init(
    _ app: App, arguments: [String], environment: [String: String] = [:],
    scene watcher: any AppWatcher
  ) {
    (self.app, self.arguments, self.watcher) = (app, arguments, watcher)
    self.environment = Self.environment.merging(environment) { $1 }
  }

  /// The process ID of the app; `nil` if it is not running.
  var identifier: Int32? { process?.identifier }

  func launch() async throws(DemoFailure) {
    let started = try? LabProcess(arguments, environment: environment, endsWithParent: true)
    guard let process = started else {
      throw .setup("the phone's process could not be started")
    }
    self.process = process
    isStopped = false
    await watcher.launched(app)
    let (app, watcher) = (app, watcher)
    listening = Task.detached {
      let complaint = Task.detached {
        var last = ""
        for await line in process.diagnostics { last = line }
        return last
      }
      for await line in process.lines {
        await watcher.receive(AppLine(line), from: app)
      }
      let cause = await process.ended()
      await watcher.ended(app, AppEnding(cause: cause, diagnostic: await complaint.value))
    }
  }

  /// Variables that prevent the use of a proxy and of desktop notifications.
  private static let environment = [
    "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/none",
  ]

  /// Sends a signal to the app, for example to move it to the background.
  func signal(_ number: Int32) {
    if number == SIGSTOP { isStopped = true }
    if number == SIGCONT { isStopped = false }
    process?.signal(number)
  }

  /// Types a line into the app's standard input.
  func type(_ line: String) { process?.send(line) }

  /// Kills the app.
  func kill() async {
    process?.signal(SIGKILL)
    await listening?.value
    process = nil
  }

  /// Requests that the app end, and kills it if it does not end within two seconds.
  func quit() async {
    guard let process else { return }
    process.signal(SIGTERM)
    // A stopped process receives the signal only when it runs again. For any other, this signal
    // would mean that the device was asleep.
    if isStopped { process.signal(SIGCONT) }
    let patience = Task {
      try? await Task.sleep(for: .seconds(2))
      if !Task.isCancelled { process.signal(SIGKILL) }
    }
    await listening?.value
    patience.cancel()
    self.process = nil
  }
}
