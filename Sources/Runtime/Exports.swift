// The ports of the features use the driver and its ports, so importing this module imports those
// too.
@_exported public import LinkDriver
