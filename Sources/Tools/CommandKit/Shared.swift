package import LinkCore

/// The options that commands share.
package enum Shared {
  package static let json = Parameter.flag("json", "print JSON, one object per line")

  package static let settings = Parameter.repeated(
    "set", .setting, "change a value of the policy; `holdfast policy show` lists the keys")
}

extension LinkPolicy {
  /// Returns this policy with the values of `--set`; an invalid one is a usage error.
  package func with(_ settings: [Setting]) throws(CommandFailure) -> LinkPolicy {
    do {
      return try setting(settings.map { ($0.key, $0.value) })
    } catch {
      throw CommandFailure(.usage, error.problems.joined(separator: "; "))
    }
  }
}
