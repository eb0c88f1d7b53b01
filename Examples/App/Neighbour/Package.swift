// swift-tools-version: 6.2
import PackageDescription

// A package whose modules and types have common names, as the packages beside Holdfast in an app do.
let package = Package(
  name: "Neighbour",
  products: [.library(name: "Neighbour", targets: ["Session", "CSQLite"])],
  targets: [.target(name: "Session"), .target(name: "CSQLite")]
)
