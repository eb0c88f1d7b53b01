import Holdfast
import HoldfastCore
import HoldfastPorts
import HoldfastTestKit

/// The parts of a lab that its apps share.
struct LabParts: Sendable {
  let program: String
  let scratch: Scratch
  let backend: LabBackend
  /// The network between the phone and the backend.
  let proxy: FaultProxy
  /// A client whose connections bypass the network's faults.
  let http: any HTTPClient
  /// Reports an event of the world around an app, such as a message that the server accepted.
  let report: @Sendable (_ link: String, LabNews) async -> Void

  /// Starts the backend, and the network in front of it.
  init(
    program: String, scratch: Scratch,
    report: @escaping @Sendable (_ link: String, LabNews) async -> Void
  ) async throws(DemoFailure) {
    (self.program, self.scratch, self.report) = (program, scratch, report)
    http = try DemoEnvironment.checked { () throws(LinkFailure) in
      try HoldfastPlatform.network(proxy: "")
    }
    backend = LabBackend(program: program, directory: scratch("server"))
    try await backend.start()
    let port = await backend.port
    do throws(FaultProxyError) {
      proxy = try FaultProxy(upstream: port)
    } catch {
      await backend.stop()
      throw .setup("the network of the lab could not be set up: \(error)")
    }
  }

  /// The address of the backend behind the network.
  var server: String { "http://127.0.0.1:\(proxy.port)" }

  /// The arguments of an app that connects to the backend, with a data directory of its own.
  func arguments(_ app: App, _ more: [String]) -> [String] {
    [program] + app.rawValue.split(separator: " ").map(String.init) + [
      "--json", "--server", server, "--data", scratch("phone-\(app.directory)"),
    ] + more
  }
}

/// An event of the world around an app.
enum LabNews: Sendable {
  /// The server accepted an entry.
  case accepted(String)
  /// Something that has only a sentence.
  case server(String)
}

/// A feature in the lab: an app in a process of its own, the other end, and what a person does with
/// it.
protocol LabFeature: AppWatcher {
  /// The name by which the feature is selected.
  var name: String { get }
  /// The title of the link.
  var title: String { get }
  /// The name of a text that a person writes, for the field on the page.
  var writes: String { get }
  var app: App { get }
  /// The networks of the app that are not the backend's.
  var networks: [FaultProxy] { get async }
  /// The deeds of the network and of the server that the link does not notice.
  var unaffectedBy: Set<LabDeed> { get }
  /// Whether the app connects to a server of the feature, and not to the backend.
  var hasOwnServer: Bool { get }

  /// Prepares the data of the app, and returns the arguments that launch it, without its journal.
  func prepare() async throws(DemoFailure) -> [String]
  /// Returns the trace of the app's journal while it grows.
  func trace(of journal: String, start: Instant, startedAt: Timestamp) -> any LiveTrace
  /// Takes the part of the other end until the task is cancelled.
  func work(on phone: Phone) async
  /// Sends a text that the person wrote.
  func say(_ text: String, on phone: Phone) async
  /// Gives out new tokens. The backend no longer accepts the earlier ones.
  func renew() async throws(DemoFailure)
  /// Ends the feature's own server, if there is one, with or without a warning to its clients.
  func endServer(isWarned: Bool) async
  func startServer() async throws(DemoFailure)
  /// Opens or closes the way of an app that uses neither proxy. A repeated call has no effect.
  func open(_ isOpen: Bool) async
  /// Ends what the feature itself has started.
  func close() async
}

extension LabFeature {
  var networks: [FaultProxy] { [] }
  var unaffectedBy: Set<LabDeed> { [] }
  var hasOwnServer: Bool { false }

  func launched(_ app: App) async {}
  func receive(_ line: AppLine?, from app: App) async {}
  func ended(_ app: App, _ ending: AppEnding) async {}
  func renew() async throws(DemoFailure) {}
  func endServer(isWarned: Bool) async {}
  func startServer() async throws(DemoFailure) {}
  func open(_ isOpen: Bool) async {}
  func close() async {}
  func say(_ text: String, on phone: Phone) async { await phone.type(text) }

  func work(on phone: Phone) async {}

  /// Repeats an action with a pause before each, until the task is cancelled.
  func each(_ pause: Duration, _ action: () async -> Void) async {
    while (try? await Task.sleep(for: pause)) != nil { await action() }
  }
}

extension App {
  /// The name of the app's folder.
  fileprivate var directory: String { rawValue.replacing(" ", with: "-") }
}
