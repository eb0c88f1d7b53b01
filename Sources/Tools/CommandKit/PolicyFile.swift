package import HoldfastCore
import HoldfastJSON

/// The unvalidated content of a policy file: a preset, and the values that differ from it.
package struct PolicyFile {
  /// The name of the file, for messages.
  package let name: String
  package private(set) var preset: LinkPolicy
  private var settings: [(key: String, value: String)]

  /// A key whose value differs from the preset's.
  package struct Change: Sendable, Hashable {
    package var key: String
    package var old: String
    package var new: String
  }

  /// Reads a file, or standard input for `-`.
  package static func read(_ path: String) throws(CommandFailure) -> PolicyFile {
    let name = path == "-" ? "standard input" : path
    let bytes = try TextFile.read(path)
    let content: Content
    do throws(JSONError) {
      var reader = JSONReader(bytes)
      content = try Content(from: &reader)
      try reader.finish()
    } catch {
      throw CommandFailure(
        .failed, "\(name): \(error.detail) at byte \(error.offset)",
        remedy: #"write {"preset":NAME,KEY:"VALUE",...}"#)
    }
    let names = LinkPolicy.presets.map(\.name)
    guard let wanted = content.preset, let preset = LinkPolicy.preset(named: wanted) else {
      let cause = content.preset.map { "there is no preset \($0)" } ?? "the preset is missing"
      throw CommandFailure(
        .failed, "\(name): \(cause)", remedy: "use one of \(names.joined(separator: ", "))")
    }
    return PolicyFile(name: name, preset: preset, settings: content.settings)
  }

  /// Returns the named preset or the policy of a file, with the changes given by `--set`.
  package static func policy(
    _ name: String, _ settings: [Setting]
  ) throws(CommandFailure) -> LinkPolicy {
    if let preset = LinkPolicy.preset(named: name) { return try preset.with(settings) }
    guard name == "-" || name.contains(".") || name.contains("/") else {
      let names = LinkPolicy.presets.map(\.name).joined(separator: ", ")
      throw CommandFailure(
        .usage, "no policy is named \(name)", remedy: "name a file, or one of \(names)")
    }
    return try read(name).policy(settings)
  }

  /// Returns the preset with the values of the file and then the changes given by `--set`.
  package func policy(_ settings: [Setting] = []) throws(CommandFailure) -> LinkPolicy {
    do throws(PolicyError) {
      let changes = try changes().map { ($0.key, $0.new) }
      return try preset.setting(changes + settings.map { ($0.key, $0.value) })
    } catch {
      throw CommandFailure(.usage, "\(name): " + error.problems.joined(separator: "; "))
    }
  }

  /// Returns the values that differ from the preset's.
  ///
  /// - Throws: An error that reports all problems at once.
  package func changes() throws(PolicyError) -> [Change] {
    var seen: Set<String> = []
    let repeated = settings.filter { !seen.insert($0.key).inserted }
    guard repeated.isEmpty else {
      throw PolicyError(problems: repeated.map { "\($0.key) is given twice" })
    }
    let policy = try preset.setting(settings)
    return zip(preset.values, policy.values).compactMap { old, new in
      old.value == new.value ? nil : Change(key: new.key, old: old.value, new: new.value)
    }
  }
}

/// The members of the object in a policy file.
private struct Content {
  var preset: String?
  var settings: [(key: String, value: String)] = []

  init(from reader: inout JSONReader) throws(JSONError) {
    try reader.beginObject()
    while let key = try reader.nextKey() {
      switch reader.text(of: key) {
      case "preset", "name": preset = try reader.string()
      case "values": try readValues(from: &reader)
      case "schedule": try reader.skipValue()
      case let key: settings.append((key, try reader.string()))
      }
    }
  }

  private mutating func readValues(from reader: inout JSONReader) throws(JSONError) {
    try reader.beginObject()
    while let key = try reader.nextKey() {
      settings.append((reader.text(of: key), try reader.string()))
    }
  }
}
