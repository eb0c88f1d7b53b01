/// The release that every program of this package belongs to.
package enum Release {
  /// Raised with every release; scripts may compare it.
  package static let version = "0.1.0"
  /// The day of that version, as YYYY-MM-DD.
  package static let date = "2026-11-25"
}
