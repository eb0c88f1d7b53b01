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
  /// Receives the end of a run: its exit status and its last diagnostic.
  func ended(_ app: App, _ ending: String) async
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
      let (status, reason) = (await process.exit(), await complaint.value)
      let ending = reason.isEmpty ? "status \(status)" : "status \(status): \(reason)"
      await watcher.ended(app, ending)
    }
  }

  /// Variables that prevent the use of a proxy and of desktop notifications.
  private static let environment = [
    "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/none",
  ]

  /// Sends a signal to the app, for example to move it to the background.
  func signal(_ number: Int32) { process?.signal(number) }

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
    // A stopped process receives the signal only when it runs again.
    process.signal(SIGCONT)
    let patience = Task {
      try? await Task.sleep(for: .seconds(2))
      if !Task.isCancelled { process.signal(SIGKILL) }
    }
    await listening?.value
    patience.cancel()
    self.process = nil
  }
}
