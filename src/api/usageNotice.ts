/** Shown wherever a person meets the service (spec: Authentication, rule 6). */
export const usageNotice =
  "This is a government information system, for authorized use only. Use is monitored and audited, and constitutes consent to monitoring."
