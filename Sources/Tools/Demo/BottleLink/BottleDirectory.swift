import Foundation
import HoldfastCore
import HoldfastTestKit

/// A directory with the radio socket and the flash memory of a bottle, and the data of its phone.
struct BottleDirectory: Sendable {
  private let directory: String
  private let program: String

  init(_ environment: isolated DemoEnvironment) throws(DemoFailure) {
    try self.init(environment.scratch("bottle"), program: environment.program)
  }

  init(_ directory: String, program: String) throws(DemoFailure) {
    (self.directory, self.program) = (directory, program)
    do {
      try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true)
    } catch {
      throw .setup("\(directory) could not be made")
    }
  }

  /// Returns a `holdfast bottle` command with these arguments.
  ///
  /// The command runs in the directory, because the path of a socket has at most 100 bytes.
  private func arguments(_ arguments: [String]) -> [String] {
    ["/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", directory, program, "bottle"] + arguments
  }

  /// Returns a bottle that sleeps until it is moved. A notification carries four of its records.
  func bottle(on environment: isolated DemoEnvironment) -> Phone {
    app(.peripheral, bottleArguments, on: environment)
  }

  /// The arguments of a bottle that sleeps until it is moved.
  var bottleArguments: [String] {
    arguments([
      "virtual", "--socket", "radio", "--flash", "flash", "--mtu", "65", "--interactive", "--json",
    ])
  }

  /// Returns the phone's app, configured with shorter waits.
  func phone(on environment: isolated DemoEnvironment) -> Phone {
    app(.bottle, phoneArguments + environment.journal(of: .bottle), on: environment)
  }

  /// The arguments of the phone's app.
  var phoneArguments: [String] {
    let settings = [
      "gate.background=300ms standby", "gate.foreground=100ms", "standby.fastFailure=100ms",
      "standby.floor=1s", "standby.background=1s", "standby.rest=0s",
    ]
    return arguments(
      ["watch", "--radio", "radio", "--data", "data", "--json"]
        + settings.flatMap { ["--set", $0] })
  }

  private func app(
    _ app: App, _ arguments: [String], on environment: isolated DemoEnvironment
  ) -> Phone {
    let phone = Phone(app, arguments: arguments, scene: environment.scene)
    environment.atEnd { await phone.quit() }
    return phone
  }

  /// Waits until the app has noted every drink that it has shown.
  func noted(on environment: isolated DemoEnvironment) async throws(DemoFailure) {
    let end = Scene.Moment.now + environment.timeLimit
    while Scene.Moment.now < end {
      let lines = try await run(["status", "--data", "data", "--json"])
      if lines.contains(where: { $0.contains("\"unshown\":0") }) { return }
      try await environment.pause(.milliseconds(20))
    }
  }

  /// Returns the IDs of the drinks in the phone's store.
  func stored() async throws(DemoFailure) -> [Int] {
    let lines = try await run(["drinks", "--data", "data", "--limit", "1000", "--json"])
    return lines.compactMap { line in
      if case .drink(let id)? = AppLine(line) { id } else { nil }
    }
  }

  private func run(_ more: [String]) async throws(DemoFailure) -> [String] {
    guard let process = try? LabProcess(arguments(more)) else {
      throw .setup("the phone's data could not be read")
    }
    return await process.lines.reduce(into: []) { $0.append($1) }
  }
}
