/// The names under which the keychain keeps the secrets of a directory.
package enum KeychainService {
  /// Returns the name that all secrets of a directory have in common.
  ///
  /// An update of the app moves its container to a path with another identifier, so the name contains
  /// only the part of the path inside the container, as in `…/Containers/Data/Application/ID/…` and
  /// `…/Containers/Shared/AppGroup/ID/…`.
  package static func name(bundle: String?, directory: String) -> String {
    let parts = directory.split(separator: "/").filter { $0 != "." }
    var inside = parts[...]
    if let index = parts.firstIndex(of: "Containers"), index + 3 < parts.count,
      ["Data", "Shared"].contains(parts[index + 1])
    {
      inside = parts[(index + 4)...]
    }
    return "\(bundle ?? "holdfast") \(inside.joined(separator: "/"))"
  }
}
