import CommandKit
import LinkCore
import LinkWire

/// The policies that commands of `simulate` take.
enum SimulatePolicy {
  /// Returns the policy with a name, or that of a file, with what `--set` changes.
  static func read(_ name: String, _ settings: [Setting]) throws(CommandFailure) -> LinkPolicy {
    if let preset = LinkPolicy.preset(named: name) { return try preset.with(settings) }
    guard name == "-" || name.contains(".") || name.contains("/") else {
      let names = LinkPolicy.presets.map(\.name).joined(separator: ", ")
      throw CommandFailure(
        .usage, "no policy is named \(name)", remedy: "name a file, or one of \(names)")
    }
    let draft = try PolicyFile.read(name)
    do throws(PolicyError) {
      let changes = try draft.changes().map { ($0.key, $0.new) }
      return try draft.preset.setting(changes + settings.map { ($0.key, $0.value) })
    } catch {
      throw CommandFailure(.usage, "\(draft.name): " + error.problems.joined(separator: "; "))
    }
  }
}
