import CommandKit
import LinkCore
import LinkWire

/// What several commands take, declared once so that it reads and works alike everywhere.
enum Shared {
  static let json = Parameter.flag("json", "print JSON, one object a line")

  static let data = Parameter.optional(
    "data", .text("DIR"), usual: "$XDG_DATA_HOME/holdfast or ~/.local/share/holdfast",
    "keep data in this directory, which is made for its owner only when it is missing")

  static let settings = Parameter.repeated(
    "set", .setting, "change a number of the policy; `policy show` lists the keys")

  static let preset = Parameter.operand(Format.preset, "a policy; `policy list` names them")
}

extension Format<LinkPolicy> {
  /// A policy by its name.
  static let preset = {
    let names = LinkPolicy.presets.map(\.name)
    return Format(
      placeholder: "NAME", expectation: "one of \(names.joined(separator: ", "))", words: names
    ) {
      LinkPolicy.preset(named: $0)
    } write: {
      $0.name
    }
  }()
}

extension Format<ShopID> {
  /// A shop by its id.
  static let shop = Format(
    placeholder: "SHOP", expectation: "1 to 128 letters, digits, dots, dashes or underscores"
  ) {
    ShopID($0)
  } write: {
    $0.text
  }
}

extension Invocation {
  /// Where data is kept: as asked for, or where the XDG base directory specification puts it.
  func dataDirectory() throws(CommandFailure) -> String {
    if let directory = self[Shared.data] { return directory }
    // A relative path is invalid there and must be ignored (XDG base directory spec 0.8, Basics).
    if let base = environment("XDG_DATA_HOME"), base.hasPrefix("/") { return "\(base)/holdfast" }
    guard let home = environment("HOME"), home.hasPrefix("/") else {
      throw CommandFailure(
        .usage, "there is no home directory to keep data in", remedy: "add --data DIR")
    }
    return "\(home)/.local/share/holdfast"
  }
}

extension LinkPolicy {
  /// This policy with the numbers of `--set`; a wrong one is wrong usage.
  func with(_ settings: [Setting]) throws(CommandFailure) -> LinkPolicy {
    do {
      return try setting(settings.map { ($0.key, $0.value) })
    } catch {
      throw CommandFailure(.usage, error.problems.joined(separator: "; "))
    }
  }
}
