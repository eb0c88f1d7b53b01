import HoldfastTestKit

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// An app on the phone or a device near the phone, run in a separate process.
///
/// The process can be killed and launched again with the same data.
actor Phone {
  private let app: App
  private let arguments: [String]
  private let scene: Scene
  private var process: LabProcess?
  private var listening: Task<Void, Never>?

  /// Creates an app. `arguments` is the command line that launches it.
  init(_ app: App, arguments: [String], scene: Scene) {
    (self.app, self.arguments, self.scene) = (app, arguments, scene)
  }

  func launch() async throws(DemoFailure) {
    guard let process = try? LabProcess(arguments, environment: Self.environment) else {
      throw .setup("the phone's process could not be started")
    }
    self.process = process
    await scene.launched(app)
    let (app, scene) = (app, scene)
    listening = Task.detached {
      let complaint = Task.detached {
        var last = ""
        for await line in process.diagnostics { last = line }
        return last
      }
      for await line in process.lines {
        await scene.receive(AppLine(line), from: app)
      }
      let (status, reason) = (await process.exit(), await complaint.value)
      let ending = reason.isEmpty ? "status \(status)" : "status \(status): \(reason)"
      await scene.ended(app, ending)
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
    let app = app
    if await scene.wait(atMost: .seconds(2), until: { $0[app].ending != nil }) == nil {
      process.signal(SIGKILL)
    }
    await listening?.value
    self.process = nil
  }
}
