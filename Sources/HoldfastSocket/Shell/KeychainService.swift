/// The names under which the keychain keeps the secrets of a directory.
package enum KeychainService {
  /// Returns the name that all secrets of a directory have in common.
  package static func name(bundle: String?, directory: String) -> String {
    "\(bundle ?? "holdfast") \(place(of: directory))"
  }

  /// Returns the part of a directory's path that stays the same.
  ///
  /// An update of the app moves its container to a path with another identifier, so the part is
  /// that inside the container, as in `…/Containers/Data/Application/ID/…` and
  /// `…/Containers/Shared/AppGroup/ID/…`.
  package static func place(of directory: String) -> String {
    let parts = directory.split(separator: "/").filter { $0 != "." }
    var inside = parts[...]
    if let index = parts.firstIndex(of: "Containers"), index + 3 < parts.count,
      ["Data", "Shared"].contains(parts[index + 1])
    {
      inside = parts[(index + 4)...]
    }
    return inside.joined(separator: "/")
  }
}
