import Foundation
import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastSyncChecks
import HoldfastTestKit

/// A scenario in which the phone and the server are killed while health samples are being uploaded.
///
/// Afterwards, a newer export deletes some of the samples.
struct HealthSyncing: DemoScenario {
  let name = "health-sync"
  let needsTraffic = false
  let title = "Health samples reach the server once"
  let troubles = [Trouble.syncKilled]
  let link: DemoLink? = DemoLink(.sync, "Health samples", SyncFeature.self)

  /// The rate of the upload in bytes per second. It is slow enough to kill both ends in the middle
  /// of the upload.
  private static let slow = 20_000
  /// The number of bytes that have been sent when the phone and the server are killed.
  private static let inTheMiddle = 24_000

  func play(on environment: isolated DemoEnvironment) async throws(DemoFailure) {
    let exports = try SyncExports(seed: environment.seed, in: environment.scratch("sync"))
    let samples = try await exports.bring(exports.older)
    environment.say(.phone, "imports \(samples) health samples")
    let server = environment.server(of: .sync, directory: environment.scratch("sync-server"))
    try await server.start()
    environment.atEnd { await server.crash() }
    let port = await server.port
    let proxy = try DemoEnvironment.checked { () throws(FaultProxyError) in
      try FaultProxy(upstream: port)
    }
    let phone = try SyncPhone(environment, server.directory, at: proxy.port, exports.phone)
    let (killed, fault) = try await kill(phone, server, proxy, on: environment)
    try await server.start()
    await environment.picture?.end(fault)
    let first = try await phone.sync()
    await environment.picture?.ended(.sync, isKilled: false)
    let whole = Scene.Moment.now - killed
    environment.note(.syncKilled, noticed: nil, whole: first == 0 ? whole : nil)
    if first == 0 {
      environment.say(
        .phone, "is launched again, goes on where it was cut, and is done in \(whole.shown)")
    } else {
      environment.ledger.faults.append("the first sync ended with \(first)")
    }
    let deleted = try await exports.bring(exports.newer)
    environment.say(.phone, "imports a newer export, which lacks some samples (\(-deleted))")
    let second = try await phone.sync()
    if second != 0 { environment.ledger.faults.append("the second sync ended with \(second)") }
    await server.crash()
    let counts = try await exports.compare(with: server.directory)
    if counts.lost == 0, counts.surplus == 0 {
      environment.say(.phone, "has \(counts.samples) samples, and the server has the same")
    }
    environment.ledger.sections.append(counts.section)
  }

  /// Kills the phone and the server in the middle of an upload. Returns the time of the kill, and
  /// the places of the fault.
  private func kill(
    _ phone: SyncPhone, _ server: Server, _ proxy: FaultProxy,
    on environment: isolated DemoEnvironment
  ) async throws(DemoFailure) -> (Scene.Moment, [DemoPicture.Place]) {
    try await environment.set(.rate(bytesPerSecond: Self.slow), on: proxy)
    let process = try phone.launch()
    let end = Scene.Moment.now + environment.timeLimit
    while await proxy.traffic.bytesUp < Self.inTheMiddle, Scene.Moment.now < end {
      try await environment.pause(.milliseconds(20))
    }
    let fault = await environment.picture?.begin(.syncKilled, of: [.sync]) ?? []
    process.signal(SIGKILL)
    _ = await process.exit()
    await environment.picture?.ended(.sync, isKilled: true)
    try await environment.set(.cut, on: proxy)
    await server.crash()
    environment.say(.phone, "and the server die, as by kill -9, in the middle of an upload")
    try await environment.set(.pass, on: proxy)
    return (.now, fault)
  }
}

extension Trouble {
  /// A fault that kills the phone and the server while samples are being uploaded.
  static let syncKilled = Trouble("syncKilled", "killed while syncing") { _, work in
    .init(noticed: nil, whole: .seconds(4) + work)
  }
}

/// The command `holdfast health sync`, run in a separate process.
private struct SyncPhone {
  private let arguments: [String]

  /// Creates the arguments of the command, and the file with the secret that it uses.
  ///
  /// - Parameter server: The data directory of the server, which contains the secret.
  init(
    _ environment: isolated DemoEnvironment, _ server: String, at port: UInt16, _ data: String
  ) throws(DemoFailure) {
    let file = environment.scratch("sync/secret")
    do {
      let lines = try String(contentsOfFile: server + "/sync-secrets", encoding: .utf8)
      let fields = lines.split(separator: "\n").last?.split(separator: " ") ?? []
      guard fields.count == 2 else { throw CocoaError(.fileReadCorruptFile) }
      try Data(fields[1].utf8).write(to: URL(fileURLWithPath: file))
    } catch {
      throw .setup("the secret of the sync could not be read: \(error)")
    }
    let schedule = "100ms*1 max 100ms +-0.0 min 100ms xunlimited"
    arguments =
      [
        environment.program, "health", "sync", "--json", "--once", "--server",
        "http://127.0.0.1:\(port)", "--secret-file", file, "--data", data, "--resume-from", "1000",
        "--set", "retry.first=\(schedule)", "--set", "retry.reconnect=\(schedule)", "--set",
        "retry.windows=60/30s", "--set", "retry.serverJitter=100ms",
      ] + environment.journal(of: .sync)
  }

  func launch() throws(DemoFailure) -> LabProcess {
    let environment = ["no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"]
    guard let process = try? LabProcess(arguments, environment: environment) else {
      throw .setup("the phone's sync could not be started")
    }
    return process
  }

  /// Sends everything. Returns the exit status.
  func sync() async throws(DemoFailure) -> Int32 { await (try launch()).exit() }
}
